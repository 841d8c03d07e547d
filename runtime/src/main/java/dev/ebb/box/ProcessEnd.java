package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.StuckProcesses;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Ends all processes of a box, even a partially made one: kills, observes, reaps. */
final class ProcessEnd {
  private static final Duration RETRY = Duration.ofMillis(1);

  private final BoxParts box;
  private final Enclosure enclosure;
  private final InitProcess init;
  private final ReleaseTally tally;

  ProcessEnd(BoxParts box, ReleaseTally tally) {
    this.box = box;
    this.tally = tally;
    enclosure = box.enclosure();
    init = box.init();
  }

  /** ORDER: kills first, by every means; failures to observe are reported after that. */
  void run() throws KernelException, InterruptedException {
    if (!enclosure.exists()) {
      endInitElsewhere();
      return;
    }
    Deadline deadline = box.host().patience().death();
    var killing = new Killing(box.id(), enclosure, box.host().patience());
    Set<Integer> members = kill(killing, deadline);
    tally.held(Kind.PROCESS, members.size());
    Step.REAP_INIT.reach();
    boolean reaped = init.reap();
    Step.AWAIT_EMPTY.reach();
    if (!killing.awaitEmpty(deadline) && isAnyLeft()) {
      return;
    }
    if (!reaped) {
      reapOrphans(members, deadline);
    }
    if (!reaped && init.isAlive()) {
      throw new KernelException("end the init of box " + box.id(), Errno.EBUSY);
    }
    tally.released(Kind.PROCESS, members.size());
  }

  /** Kills all processes; returns those that were listed. */
  private Set<Integer> kill(Killing killing, Deadline deadline) throws InterruptedException {
    var members = new LinkedHashSet<>(killing.members());
    // The process that makes a box is outside of it. A dead init does not explain such a process.
    if (!init.isStarting() && !enclosure.paths().isEmpty()) {
      var others = new LinkedHashSet<>(members);
      init.childPid().ifPresent(others::remove);
      var _ = box.host().strangers().lookAmong(others, box.id().toString());
    }
    killing.killAll();
    if (init.isStarting()) {
      killing.attempt(() -> init.learn(deadline));
      members.addAll(killing.members());
      killing.killAll();
    }
    killing.attempt(init::kill);
    return members;
  }

  private boolean isAnyLeft() throws KernelException {
    List<Integer> left = enclosure.procs();
    left.forEach(pid -> tally.stuck(Kind.PROCESS, Integer.toString(pid), why(pid)));
    return !left.isEmpty();
  }

  private static String why(int pid) {
    return "outlived SIGKILL, " + StuckProcesses.describe(pid).describe();
  }

  /** Another process may have moved init out of its cgroup, or removed the cgroup. */
  private void endInitElsewhere() throws KernelException, InterruptedException {
    if (init.isAlive()) {
      tally.held(Kind.PROCESS, 1);
      if (!init.reap()) {
        throw new KernelException("end the init of box " + box.id(), Errno.EBUSY);
      }
      tally.released(Kind.PROCESS, 1);
    }
  }

  /**
   * KERNEL: "populated 0" comes before the zombies are gone; orphans of the box become our
   * children.
   *
   * <p>ORDER: members first. A process that was dead when they were listed, or started later, is
   * our child at the latest when its parent is gone.
   */
  private void reapOrphans(Set<Integer> members, Deadline deadline) throws KernelException {
    if (!deadline.until(RETRY, () -> isReaped(members))) {
      throw new KernelException("reap the processes of box " + box.id(), Errno.EBUSY);
    }
  }

  private boolean isReaped(Set<Integer> members) throws KernelException {
    box.host().reaper().reap(enclosure::holds);
    return members.stream().noneMatch(enclosure::holds)
        && ProcFs.children().stream().noneMatch(enclosure::holds);
  }
}
