package dev.ebb.torture;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * What is wanted.
 *
 * @param length how long the work goes on; the checks at the end come on top
 * @param boxes how many there are at once
 * @param report a directory for the report
 * @param json the report on stdout is JSON
 */
public record Settings(
    Duration length, long seed, int boxes, Profile profile, Optional<Path> report, boolean json) {}
