package dev.ebb.model;

/** What a box uses at this moment, by the kernel's own count. */
public record Occupancy(long memoryBytes, long tasks) {
  /** The occupancy of a box that is gone. */
  public static final Occupancy NONE = new Occupancy(0, 0);
}
