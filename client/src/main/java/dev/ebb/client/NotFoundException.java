package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/** There is no such box, exec or file, or it belongs to another tenant. */
public final class NotFoundException extends EbbException {
  private static final long serialVersionUID = 1L;

  NotFoundException(int status, JsonObject problem) throws JsonException {
    super(status, problem);
  }
}
