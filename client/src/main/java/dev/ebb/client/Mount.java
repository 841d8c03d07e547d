package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/** A directory or file of the daemon's host, mounted in a box. */
public record Mount(String source, String target, boolean readOnly) {
  static Mount read(JsonObject document) throws JsonException {
    return new Mount(
        document.string("source"), document.string("target"), document.isTrue("readOnly"));
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("source", source)
        .with("target", target)
        .with("readOnly", readOnly);
  }
}
