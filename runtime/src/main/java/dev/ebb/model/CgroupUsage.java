package dev.ebb.model;

import java.time.Duration;

/**
 * The use of the commands of a box so far, as the kernel counts it.
 *
 * @param pidsRefused how often a fork failed at the pids limit
 */
public record CgroupUsage(
    Duration cpu, long peakMemoryBytes, long peakPids, long oomKills, long pidsRefused) {
  /** Returns a copy without the processor time that was used before. */
  public CgroupUsage since(Duration before) {
    Duration rest = cpu.compareTo(before) > 0 ? cpu.minus(before) : Duration.ZERO;
    return new CgroupUsage(rest, peakMemoryBytes, peakPids, oomKills, pidsRefused);
  }

  /** The usage of a box that is gone. */
  public static final CgroupUsage NONE = new CgroupUsage(Duration.ZERO, 0, 0, 0, 0);
}
