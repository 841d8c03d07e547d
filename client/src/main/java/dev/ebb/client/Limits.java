package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/** The most that a box may use; null means the default of the daemon. */
public record Limits(
    @Nullable Long memoryBytes,
    @Nullable Integer pids,
    @Nullable Double cpus,
    @Nullable Long diskBytes) {
  /** The defaults of the daemon. */
  public static final Limits DEFAULTS = new Limits(null, null, null, null);

  static Limits read(JsonObject document) throws JsonException {
    return new Limits(
        document.numberOrNull("memoryBytes"),
        document.integerOrNull("pids"),
        document.decimalOrNull("cpus"),
        document.numberOrNull("diskBytes"));
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("memoryBytes", memoryBytes)
        .with("pids", Documents.number(pids))
        .with("cpus", cpus)
        .with("diskBytes", diskBytes);
  }
}
