package dev.ebb.model;

import java.time.Duration;

/** How long commands of a box could not go on for want of something: the kernel's PSI. */
public record StallTimes(Stall cpu, Stall memory, Stall io) {
  /**
   * While at least one of them waited.
   *
   * @param percent of the last ten seconds
   * @param total since the box was made
   */
  public record Stall(double percent, Duration total) {}
}
