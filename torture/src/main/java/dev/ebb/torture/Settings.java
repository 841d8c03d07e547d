package dev.ebb.torture;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The settings of a run.
 *
 * @param length how long the work goes on, without the checks at the end
 * @param boxes the number of boxes at once
 * @param only the only kind of kill or fault, of {@link #kinds}; all of them if empty
 * @param report a directory for the report
 * @param json the report on stdout is JSON
 */
public record Settings(
    Duration length,
    long seed,
    int boxes,
    Profile profile,
    Optional<String> only,
    Optional<Path> report,
    boolean json) {
  /** Every kind of kill and fault. */
  public static List<String> kinds() {
    return Arrays.stream(Stroke.Target.values()).map(Stroke.Target::wireName).toList();
  }
}
