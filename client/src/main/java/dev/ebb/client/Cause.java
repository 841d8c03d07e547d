package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * Why a command ended.
 *
 * @param kind exited, signalled, timed-out, out-of-memory, output-limit, output-lost, killed,
 *     not-started, lost or stuck
 */
public record Cause(
    String kind, @Nullable Integer code, @Nullable Integer signal, @Nullable String message) {
  static Cause read(JsonObject document) throws JsonException {
    return new Cause(
        document.string("kind"),
        document.integerOrNull("code"),
        document.integerOrNull("signal"),
        document.stringOrNull("message"));
  }
}
