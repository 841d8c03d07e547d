package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Waits until a cgroup has no living member. */
@FunctionalInterface
public interface EmptyWait {
  /** A look at every process of the host costs more. */
  Duration LIST_AGAIN = Duration.ofMillis(10);

  Logger LOG = System.getLogger(EmptyWait.class.getName());

  /** How long an unannounced change may go unnoticed. */
  Duration LOOK_AGAIN = Duration.ofMillis(1);

  /** False when the deadline came first. An absent cgroup is empty. Interruptible. */
  boolean await(Cgroup cgroup, Deadline deadline) throws KernelException, InterruptedException;

  /**
   * Waits for an event: cgroup.events announces each change. Where that cannot be read, reads /proc
   * repeatedly.
   */
  static EmptyWait on(Poller poller) {
    return (cgroup, deadline) -> {
      try {
        return awaitEvents(poller, cgroup, deadline);
      } catch (KernelException e) {
        if (!cgroup.exists()) {
          return true;
        }
        ProcMembers members = ProcMembers.of(cgroup.path()).orElseThrow(() -> e);
        LOG.log(
            Level.WARNING,
            "event=cgroup_events_unreadable, reading /proc reason=\"{0}\"",
            e.getMessage());
        return awaitNoMember(members, deadline);
      }
    };
  }

  private static boolean awaitEvents(Poller poller, Cgroup cgroup, Deadline deadline)
      throws KernelException, InterruptedException {
    try (var scope = new Scope()) {
      Fd events = Fd.open(scope, cgroup.path().resolve("cgroup.events"), Fd.Flag.READ);
      byte[] text = new byte[256];
      if (!isPopulated(events, text)) {
        return true;
      }
      var changed = new Readiness(scope, poller, events, Poller.Interest.PRIORITY);
      while (isPopulated(events, text)) {
        if (deadline.isOver()) {
          return false;
        }
        // KERNEL: cgroup.events notifies at most once in 10 ms, so a change may be reported late.
        var _ = changed.await(deadline.sooner(LOOK_AGAIN));
        changed.arm();
      }
      return true;
    } catch (KernelException e) {
      if (Cgroup.isGone(e)) {
        return true;
      }
      throw e;
    }
  }

  private static boolean awaitNoMember(ProcMembers members, Deadline deadline)
      throws InterruptedException {
    return deadline.untilInterrupted(LIST_AGAIN, () -> members.list().isEmpty());
  }

  // KERNEL: only a read of the very descriptor that is polled rearms its notification.
  private static boolean isPopulated(Fd events, byte[] text) throws KernelException {
    int n = events.readAt(0, text, 0, text.length);
    return Cgroup.isPopulated(new String(text, 0, n, StandardCharsets.US_ASCII));
  }
}
