package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/** The name is taken, or the box, exec or file is not in the state that the call needs. */
public final class ConflictException extends EbbException {
  private static final long serialVersionUID = 1L;

  ConflictException(int status, JsonObject problem) throws JsonException {
    super(status, problem);
  }
}
