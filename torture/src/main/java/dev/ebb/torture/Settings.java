package dev.ebb.torture;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * What is wanted.
 *
 * @param length how long the work goes on; the checks at the end come on top
 * @param boxes how many there are at once
 * @param only the one kind of kill or fault there is, of {@link #kinds}; all of them if empty
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
