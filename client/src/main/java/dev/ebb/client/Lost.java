package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;

/**
 * Output that could not be stored, or not be read again. What there is of a stream is its
 * beginning.
 *
 * @param stdoutBytes that are missing, and {@code stderrBytes}; 0 of both: unknown
 * @param reason the kernel's word for it, as ENOSPC
 */
public record Lost(long stdoutBytes, long stderrBytes, String reason) {
  static Lost read(JsonObject document) throws JsonException {
    return new Lost(
        document.count("stdoutBytes"), document.count("stderrBytes"), document.string("reason"));
  }
}
