package dev.ebb.json;

import java.io.IOException;

/** The text is not the expected JSON; the message says what is wrong and where. */
public final class JsonException extends IOException {
  private static final long serialVersionUID = 1L;

  public JsonException(String message) {
    super(message);
  }

  static JsonException at(int position, String problem) {
    return new JsonException("bad JSON at " + position + ": " + problem);
  }
}
