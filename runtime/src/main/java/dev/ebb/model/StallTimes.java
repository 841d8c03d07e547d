package dev.ebb.model;

import java.time.Duration;

/** How long commands of a box stalled for want of a resource: the kernel's PSI. */
public record StallTimes(Stall cpu, Stall memory, Stall io) {
  /**
   * Time in which at least one of them stalled.
   *
   * @param percent of the last ten seconds
   * @param total since the box was made
   */
  public record Stall(double percent, Duration total) {}
}
