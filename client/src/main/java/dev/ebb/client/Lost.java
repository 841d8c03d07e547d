package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/**
 * Output that could not be stored or read again. What remains of a stream is its beginning.
 *
 * @param stdoutBytes how many are missing, like {@code stderrBytes}; both 0 if unknown
 * @param reason the kernel's name for it, such as ENOSPC
 */
public record Lost(long stdoutBytes, long stderrBytes, String reason) {
  static Lost read(JsonObject document) throws JsonException {
    return new Lost(
        document.count("stdoutBytes"), document.count("stderrBytes"), document.string("reason"));
  }
}
