package dev.ebb.init;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Spawn;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;

/**
 * Closes sockets in which a box has put descriptors, in a short-lived process each ({@code
 * init/host/discard.c}): to close such a descriptor may take as long as the box wants. Thread-safe.
 */
public final class Discards {
  private static final Logger LOG = System.getLogger(Discards.class.getName());
  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Poller poller;
  private final InitBinary binary;

  public Discards(Poller poller, InitBinary binary) {
    this.poller = poller;
    this.binary = binary;
  }

  /**
   * Returns at once; {@code close} is called later, and must close our copy of {@code socket}.
   * Until a process can be started, the socket stays open.
   */
  public void discard(Fd socket, Runnable close) {
    LOG.log(Level.WARNING, "event=descriptors_from_box socket=\"{0}\"", socket);
    Thread.ofVirtual().name("ebb-discard").start(() -> discardSoon(socket, close));
  }

  private void discardSoon(Fd socket, Runnable close) {
    for (boolean isFirst = true; !isDiscarded(socket, close, isFirst); isFirst = false) {
      Deadline.never().pause(RETRY);
    }
  }

  private boolean isDiscarded(Fd socket, Runnable close, boolean isFirst) {
    try (var process = new Scope()) {
      Pidfd child;
      try {
        child = handOver(process, socket, close);
      } catch (KernelException e) {
        LOG.log(isFirst ? Level.WARNING : Level.DEBUG, "event=discard_failed, trying again", e);
        return e.is(Errno.EBADF);
      }
      reap(process, child);
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=discard_not_reaped, ignoring: the reaper will", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return true;
  }

  /** ORDER: the child has the last copy when it sees the end of the pipe, and exits. */
  private Pidfd handOver(Scope process, Fd socket, Runnable close) throws KernelException {
    try (var pipe = new Scope()) {
      Fd.Pipe until = Fd.pipe(pipe, pipe);
      Pidfd child =
          Spawn.spawn(
              process,
              binary.path(),
              List.of("ebb-init", "discard"),
              List.of(until.read(), socket));
      close.run();
      return child;
    }
  }

  private void reap(Scope scope, Pidfd child) throws KernelException, InterruptedException {
    var readiness = new Readiness(scope, poller, child.fd(), Poller.Interest.READ);
    if (readiness.await(Deadline.in(PATIENCE))) {
      var _ = child.reap();
    }
  }
}
