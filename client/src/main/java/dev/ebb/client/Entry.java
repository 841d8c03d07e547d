package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A file, directory or link in a box.
 *
 * @param type file, directory, link or other
 * @param mode octal, as chmod takes it
 * @param target of a link
 */
public record Entry(
    String name,
    String type,
    long sizeBytes,
    String mode,
    Instant modifiedAt,
    @Nullable String target) {
  static Entry read(JsonObject document) throws JsonException {
    return new Entry(
        document.string("name"),
        document.string("type"),
        document.count("sizeBytes"),
        document.string("mode"),
        document.instant("modifiedAt"),
        document.stringOrNull("target"));
  }

  public boolean isDirectory() {
    return type.equals("directory");
  }

  public boolean isFile() {
    return type.equals("file");
  }
}
