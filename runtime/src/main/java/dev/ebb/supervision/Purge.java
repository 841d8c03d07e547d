package dev.ebb.supervision;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Home;
import dev.ebb.store.HomeRemoval;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Removes Ebb from a host: its daemon, what dead instances left, and its home. */
public final class Purge {
  private final Home home;
  private final Recovery recovery;

  public Purge(Home home, Recovery recovery) {
    this.home = home;
    this.recovery = recovery;
  }

  /**
   * The result of a purge.
   *
   * @param findings of dead instances; one that is stuck keeps the home
   * @param removed the contents of the home, and the home itself
   * @param kept files that are not Ebb's
   */
  public record Outcome(List<Recovery.Finding> findings, List<Path> removed, List<Path> kept) {
    public Outcome {
      findings = List.copyOf(findings);
      removed = List.copyOf(removed);
      kept = List.copyOf(kept);
    }

    public boolean isStuck() {
      return findings.stream().anyMatch(each -> each.fate() instanceof Recovery.Fate.Stuck);
    }
  }

  /** Returns the daemon of this home, if it lives. */
  public Optional<ProcessRef> daemon() throws KernelException, IOException {
    Optional<Integer> pid = home.daemon();
    return living().stream()
        .filter(process -> pid.filter(p -> p == process.pid()).isPresent())
        .findFirst();
  }

  /** Returns the living processes that own an instance. */
  public List<ProcessRef> living() throws IOException {
    return home.view().stream()
        .map(Home.View::process)
        .flatMap(process -> ProcessRef.parseIfWhole(process).stream())
        .filter(ProcessRef::isAlive)
        .distinct()
        .toList();
  }

  /** Asks the daemon to end, and does not wait. */
  public void end(ProcessRef daemon) throws KernelException {
    daemon.signal(Signal.TERM);
  }

  /** Removes the home, unless a process still has an instance there. */
  public Outcome run() throws KernelException, IOException {
    var findings = new ArrayList<>(new SideHomes(home, recovery).removeAll());
    findings.addAll(recovery.recover(false, Recovery.Detached.RELEASE));
    findings.addAll(recovery.recoverLost(false));
    var swept = new Outcome(findings, List.of(), List.of());
    if (swept.isStuck()) {
      return swept;
    }
    HomeRemoval.Outcome outcome = home.remove();
    return new Outcome(findings, outcome.removed(), outcome.kept());
  }
}
