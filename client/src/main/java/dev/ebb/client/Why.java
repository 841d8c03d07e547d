package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/** Why something is still there. */
public record Why(String subject, String reason, JsonObject document) {
  static Why read(JsonObject document) throws JsonException {
    return new Why(document.string("subject"), document.string("reason"), document);
  }
}
