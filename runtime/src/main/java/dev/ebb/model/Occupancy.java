package dev.ebb.model;

/** The present use of a box, as the kernel counts it. */
public record Occupancy(long memoryBytes, long tasks) {
  /** The occupancy of a box that is gone. */
  public static final Occupancy NONE = new Occupancy(0, 0);
}
