package dev.ebb.supervision;

import dev.ebb.box.BoxHost;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.StuckProcesses;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Processes, dead ones too, that run as a host uid of this instance which no box has.
 *
 * <p>RACE: a uid is lent before anything runs as it, and given back after the last of it was
 * reaped. So a process that is there, has the uid of an idle box, and is still there, is a stray.
 */
final class StrayProcesses {
  private static final Duration BOUND = Duration.ofSeconds(5);
  private static final Duration RETRY = Duration.ofMillis(1);

  private final BoxHost host;

  private final OtherInstances others;

  StrayProcesses(BoxHost host) {
    this.host = host;
    others = new OtherInstances(host.instance().id());
  }

  /** Ends them; a dry run only reports. */
  List<Finding> end(boolean dryRun) throws KernelException {
    List<ProcessRef> strays = find();
    if (!dryRun) {
      // ORDER: all are killed before any is waited for, or one could go on forking.
      for (ProcessRef stray : strays) {
        stray.signal(Signal.KILL);
      }
    }
    var findings = new ArrayList<Finding>();
    for (ProcessRef stray : strays) {
      Fate fate = dryRun ? new Fate.Planned() : awaitEnd(stray);
      findings.add(new Finding(host.instance().id(), Kind.PROCESS, stray.toString(), fate));
    }
    return findings;
  }

  /** Where boxes have no uid of their own, a process cannot be recognized by it. */
  private List<ProcessRef> find() {
    if (host.uids().isShared()) {
      return List.of();
    }
    return ProcFs.all().stream()
        .map(ProcessRef::of)
        .flatMap(Optional::stream)
        .filter(process -> isIdle(process.pid()) && !others.have(process.pid()))
        .filter(ProcessRef::exists)
        .toList();
  }

  private boolean isIdle(int pid) {
    return ProcFs.uid(pid).stream().anyMatch(host.uids()::isIdle);
  }

  private Fate awaitEnd(ProcessRef stray) throws KernelException {
    boolean isGone =
        Deadline.in(BOUND)
            .until(
                RETRY,
                () -> {
                  host.reaper().reap(pid -> pid == stray.pid());
                  return !stray.exists();
                });
    return isGone ? new Fate.Released() : outlived(stray);
  }

  private static Fate outlived(ProcessRef stray) {
    return stray.isAlive()
        ? new Fate.Stuck("outlived SIGKILL, " + StuckProcesses.describe(stray.pid()).describe())
        : new Fate.Left("dead, but its parent does not wait for it");
  }
}
