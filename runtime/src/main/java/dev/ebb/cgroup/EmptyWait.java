package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Waits until a cgroup has no living member. */
@FunctionalInterface
public interface EmptyWait {
  /** How long an unannounced change may go unnoticed. */
  Duration LOOK_AGAIN = Duration.ofMillis(1);

  /** False when the deadline came first. An absent cgroup is empty. Interruptible. */
  boolean await(Cgroup cgroup, Deadline deadline) throws KernelException, InterruptedException;

  /** By the kernel's word: cgroup.events announces each change. */
  static EmptyWait on(Poller poller) {
    return (cgroup, deadline) -> {
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
          // KERNEL: cgroup.events speaks at most once in 10 ms, so a change may be told late.
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
    };
  }

  // KERNEL: only a read of the very descriptor that is polled rearms its notification.
  private static boolean isPopulated(Fd events, byte[] text) throws KernelException {
    int n = events.readAt(0, text, 0, text.length);
    return Cgroup.isPopulated(new String(text, 0, n, StandardCharsets.US_ASCII));
  }
}
