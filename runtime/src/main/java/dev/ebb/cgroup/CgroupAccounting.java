package dev.ebb.cgroup;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Occupancy;
import dev.ebb.model.StallTimes;
import java.time.Duration;
import java.util.Optional;

/** The counts of the cgroups of one box for its commands. */
final class CgroupAccounting implements Accounting {
  private final BoxLayout layout;
  private final CgroupLeaves leaves;

  CgroupAccounting(BoxLayout layout, CgroupLeaves leaves) {
    this.layout = layout;
    this.leaves = leaves;
  }

  @Override
  public long oomKills() throws KernelException {
    return layout.memory().oomKills();
  }

  /** Version 2 needs none: there the kernel ends the whole exec by itself. */
  @Override
  public Optional<Fd> oomEvents(Scope scope) throws KernelException {
    return layout.isHybrid() ? Optional.of(layout.memory().oomEvents(scope)) : Optional.empty();
  }

  @Override
  public Optional<CgroupUsage> usage() throws KernelException {
    var cpu = CpuController.used(layout.work());
    if (cpu.isEmpty() && !layout.box().exists()) {
      return Optional.of(CgroupUsage.NONE);
    }
    var memory = layout.memory();
    var pids = layout.pids();
    return Optional.of(
        new CgroupUsage(
            cpu.orElse(Duration.ZERO),
            memory.peak(),
            withoutInit(pids.peak()),
            memory.oomKills(),
            layout.isHybrid() ? pids.maxEvents() : pidsRefused()));
  }

  @Override
  public Optional<Occupancy> occupancy() throws KernelException {
    return Optional.of(
        layout.box().exists()
            ? new Occupancy(layout.memory().current(), withoutInit(layout.pids().current()))
            : Occupancy.NONE);
  }

  @Override
  public Optional<StallTimes> pressure() throws KernelException {
    return PressureFiles.of(layout.work());
  }

  /** In v1 init is where the commands are. */
  private long withoutInit(long tasks) {
    return Math.max(0, tasks - (layout.isHybrid() ? 1 : 0));
  }

  /**
   * How many forks the limit of the work refused.
   *
   * <p>KERNEL: from Linux 6.11 on they count where the limit is; before, and with {@code
   * pids_localevents}, where the forking task is, and nowhere above.
   */
  private long pidsRefused() throws KernelException {
    long refused = leaves.refusedInRemoved();
    for (Cgroup cgroup : layout.work().bottomUp()) {
      refused += new PidsController(cgroup).maxEvents();
    }
    return refused;
  }
}
