package dev.ebb.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.BoxHost;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Holding;
import dev.ebb.model.SandboxException;
import dev.ebb.store.Home;
import dev.ebb.supervision.Audit;
import dev.ebb.supervision.Recovery;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The resources that an engine holds on the host, and the leftovers it finds there: of its own
 * boxes, of other engines on its home, and of ended boxes older than the history. Thread-safe.
 */
final class Inspection {
  private final Home home;
  private final BoxHost host;
  private final Audit.Population boxes;
  private final List<Recovery.Finding> recovered;
  private final OrderedLock auditing = new OrderedLock(LockOrder.ENGINE_AUDIT);

  /** Otherwise the audit would see a partially removed box. */
  @GuardedBy("auditing")
  private final ExpiredHistory expired;

  Inspection(Home home, BoxHost host, Audit.Population boxes, List<Recovery.Finding> recovered) {
    this.home = home;
    this.host = host;
    this.boxes = boxes;
    this.recovered = List.copyOf(recovered);
    expired = new ExpiredHistory(host.instance(), host.records());
  }

  /** Returns what was found of dead instances when the engine was opened. */
  List<Recovery.Finding> recovered() {
    return recovered;
  }

  List<Holding> holdings() {
    return host.instance().ledger().holdings();
  }

  long leaks() {
    return host.removal().leaks();
  }

  long strangers() {
    return host.strangers().count();
  }

  /** Compares the host with what the engine holds, and repairs; a dry run only reports. */
  List<Recovery.Finding> audit(boolean dryRun) {
    return sweep(() -> new Audit(host, recovery(), boxes).run(dryRun));
  }

  /** Releases what dead engines on this home left; a dry run only reports. */
  List<Recovery.Finding> recoverOthers(boolean dryRun) {
    return sweep(
        () -> {
          var findings = new ArrayList<>(recovery().recover(dryRun));
          findings.addAll(recovery().recoverLost(dryRun));
          return findings;
        });
  }

  private Recovery recovery() {
    return new Recovery(
        home,
        host.emptyWait(),
        host.removal(),
        host.strangers(),
        HomeTools.SWEEP_PATIENCE,
        host.patience()::isOver);
  }

  /**
   * Takes the ended boxes that are not part of {@code history} out of {@code boxes}, for {@link
   * #removeExpired}.
   */
  void takeExpired(Map<String, List<Holding>> boxes, History history) {
    auditing.lock();
    try {
      expired.takeFrom(boxes, history);
    } finally {
      auditing.unlock();
    }
  }

  /** Removes up to {@code most} of the boxes that {@link #takeExpired} took. */
  void removeExpired(int most) {
    auditing.lock();
    try {
      expired.remove(most);
    } catch (KernelException e) {
      throw failed(e);
    } finally {
      auditing.unlock();
    }
  }

  private interface Sweeping {
    List<Recovery.Finding> run() throws KernelException, IOException;
  }

  /** Runs one sweep at a time. */
  private List<Recovery.Finding> sweep(Sweeping sweeping) {
    auditing.lock();
    try {
      return sweeping.run();
    } catch (KernelException | IOException e) {
      throw failed(e);
    } finally {
      auditing.unlock();
    }
  }

  private static SandboxException failed(Exception e) {
    return new SandboxException(ErrorCode.INTERNAL, "cannot sweep: " + e.getMessage(), e);
  }
}
