package dev.ebb.cgroup;

import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;

/**
 * Sets the limits of one box.
 *
 * <p>They sit on {@code work}, so that init still runs when the workload has eaten its share;
 * {@code <box>} is limited too, with a small reserve. A v1 limit holds for the box as a whole: no
 * process can start in another v1 cgroup than its parent's, so commands are where init is.
 */
final class BoxLimits {
  /**
   * The limits of an operator's commands, where no common cgroup is above theirs and those of the
   * workload.
   */
  private static final long LANE_PIDS = 32;

  private static final long LANE_MEMORY = 64L << 20;

  /** The resources that init may use beyond the limits of the workload. */
  private static final long RESERVE_PIDS = 8;

  private static final long RESERVE_MEMORY = 16L << 20;

  private final BoxLayout layout;

  BoxLimits(BoxLayout layout) {
    this.layout = layout;
  }

  void set(CgroupLimits limits) throws KernelException {
    if (layout.isHybrid()) {
      setVersion1(limits);
    } else {
      set(layout.work(), limits, 0, 0);
      set(layout.box(), limits, RESERVE_PIDS, RESERVE_MEMORY);
    }
  }

  void change(CgroupLimits from, CgroupLimits to) throws KernelException {
    if (from.equals(to)) {
      return;
    }
    Step.CHANGE_LIMITS.reach();
    // KERNEL: v1 lets memory with swap never be less than memory alone.
    if (layout.isHybrid() && to.memory().bytes() > from.memory().bytes()) {
      new MemoryController(layout.memory().cgroup(), true).noSwap(to.memory().bytes());
    }
    set(to);
  }

  private static void set(Cgroup cgroup, CgroupLimits limits, long pids, long memory)
      throws KernelException {
    new MemoryController(cgroup, false).max(saturatedSum(limits.memory().bytes(), memory));
    new PidsController(cgroup).max(limits.pids() + pids);
    new CpuController(cgroup, false).max(limits.cpus());
  }

  private static long saturatedSum(long limit, long reserve) {
    return limit > Long.MAX_VALUE - reserve ? Long.MAX_VALUE : limit + reserve;
  }

  private void setVersion1(CgroupLimits limits) throws KernelException {
    var memory = layout.version1("memory");
    if (memory.isPresent()) {
      new MemoryController(memory.get(), true).max(limits.memory().bytes());
    }
    var pids = layout.version1("pids");
    if (pids.isPresent()) {
      // Init is in it too.
      new PidsController(pids.get()).max(limits.pids() + 1);
    }
    var cpu = layout.version1("cpu");
    if (cpu.isPresent()) {
      new CpuController(cpu.get(), true).max(limits.cpus());
    }
  }

  /** Sets the limits of the lane's v1 cgroups; in version 2 those of the box hold. */
  void setLane() throws KernelException {
    var memory = layout.version1Lane("memory");
    if (memory.isPresent()) {
      new MemoryController(memory.get(), true).max(LANE_MEMORY);
    }
    var pids = layout.version1Lane("pids");
    if (pids.isPresent()) {
      new PidsController(pids.get()).max(LANE_PIDS);
    }
  }
}
