package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * A command that has ended, and the first MiB of each of its streams.
 *
 * @param certificate of the box, if the box was made for this command and is released
 */
public record Result(Exec exec, Output stdout, Output stderr, @Nullable Certificate certificate) {
  static Result read(JsonObject document) throws JsonException {
    return new Result(
        Exec.read(document),
        Output.read(document.objectOrNull("stdout")),
        Output.read(document.objectOrNull("stderr")),
        Documents.orNull(document.objectOrNull("certificate"), Certificate::read));
  }
}
