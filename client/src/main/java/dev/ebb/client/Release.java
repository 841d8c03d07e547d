package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * How far the release of a box has come.
 *
 * @param box its id
 * @param released {@code pending}, {@code done}, or {@code stuck}: then it is tried again
 * @param certificate null while it is pending
 * @param document as the daemon sent it
 */
public record Release(
    String box, String released, @Nullable Certificate certificate, JsonObject document) {
  static Release read(JsonObject document) throws JsonException {
    return new Release(
        document.string("box"),
        document.string("released"),
        Documents.orNull(document.objectOrNull("certificate"), Certificate::read),
        document);
  }

  public boolean isPending() {
    return released.equals("pending");
  }
}
