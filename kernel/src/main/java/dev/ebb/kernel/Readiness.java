package dev.ebb.kernel;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Lets a blocking caller wait for one descriptor through the poller.
 *
 * <p>ORDER: arm, then look at the descriptor, then await; an event between arm and await is kept.
 */
public final class Readiness implements Owned {
  private static final Duration CATCH_UP = Duration.ofSeconds(5);

  private final Poller poller;
  private final Semaphore event = new Semaphore(0);
  private final Poller.Watch watch;
  private boolean armed = true;
  private volatile boolean closed;

  /** Starts armed. */
  public Readiness(Scope scope, Poller poller, Fd fd, Poller.Interest interest)
      throws KernelException {
    this.poller = poller;
    watch = poller.watch(scope, fd, interest, event::release);
    scope.own(this);
  }

  public void arm() throws KernelException {
    // An event that came while no thread waited has silenced the watch as well.
    armed &= event.drainPermits() == 0;
    if (!armed) {
      armed = true;
      watch.rearm();
    }
  }

  /** False when the deadline came first. Interruptible. */
  public boolean await(Deadline deadline) throws InterruptedException {
    // RACE: an arm may have drained the event of the close.
    boolean ready;
    do {
      ready = closed || event.tryAcquire(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
    } while (!ready && !deadline.isOver());
    armed &= !ready;
    return ready;
  }

  /**
   * Waits until it is ready; what was ready before the deadline counts, even if the poller is late.
   */
  public boolean awaitSurely(Deadline deadline) throws InterruptedException {
    if (await(deadline)) {
      return true;
    }
    var _ = poller.catchUp(Deadline.in(CATCH_UP));
    return await(Deadline.in(Duration.ZERO));
  }

  /** Wakes waiting threads, for good. */
  @Override
  public void close() throws KernelException {
    closed = true;
    event.release();
    watch.close();
  }
}
