package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * The most that a tenant may have at a time; null means no limit.
 *
 * @param memoryBytes the sum of the limits of all its boxes, as are processors and pids
 */
public record Quota(
    @Nullable Long boxes,
    @Nullable Long execs,
    @Nullable Long memoryBytes,
    @Nullable Double cpus,
    @Nullable Long pids,
    @Nullable Double requestsPerSecond) {

  static Quota read(JsonObject document) throws JsonException {
    return new Quota(
        document.numberOrNull("boxes"),
        document.numberOrNull("execs"),
        document.numberOrNull("memoryBytes"),
        document.decimalOrNull("cpus"),
        document.numberOrNull("pids"),
        document.decimalOrNull("requestsPerSecond"));
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("boxes", boxes)
        .with("execs", execs)
        .with("memoryBytes", memoryBytes)
        .with("cpus", cpus)
        .with("pids", pids)
        .with("requestsPerSecond", requestsPerSecond);
  }
}
