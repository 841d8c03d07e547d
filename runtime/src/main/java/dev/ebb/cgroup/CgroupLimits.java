package dev.ebb.cgroup;

import dev.ebb.model.ByteSize;
import dev.ebb.model.Limits;

/** The limits that the cgroups of one box set for all its commands together. */
public record CgroupLimits(ByteSize memory, long pids, double cpus) {
  public static CgroupLimits of(Limits limits) {
    return new CgroupLimits(limits.memory(), limits.pids(), limits.cpus());
  }
}
