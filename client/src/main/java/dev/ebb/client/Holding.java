package dev.ebb.client;

import dev.ebb.client.json.JsonException;
import dev.ebb.client.json.JsonObject;
import org.jspecify.annotations.Nullable;

/** Something of the host that a box has. */
public record Holding(String kind, String subject, @Nullable String detail) {
  static Holding read(JsonObject document) throws JsonException {
    return new Holding(
        document.string("kind"), document.string("subject"), document.stringOrNull("detail"));
  }
}
