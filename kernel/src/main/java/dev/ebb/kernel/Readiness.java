package dev.ebb.kernel;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Lets a blocking caller wait for one descriptor through the poller.
 *
 * <p>ORDER: arm, then look at the descriptor, then await; an event between arm and await is kept.
 */
public final class Readiness implements Owned {
  private final Semaphore event = new Semaphore(0);
  private final Poller.Watch watch;
  private boolean armed = true;

  /** Starts armed. */
  public Readiness(Scope scope, Poller poller, Fd fd, Poller.Interest interest)
      throws KernelException {
    watch = poller.watch(scope, fd, interest, event::release);
    scope.own(this);
  }

  public void arm() throws KernelException {
    // An event that came while nobody waited has silenced the watch as well.
    armed &= event.drainPermits() == 0;
    if (!armed) {
      armed = true;
      watch.rearm();
    }
  }

  /** False when the deadline came first. Interruptible. */
  public boolean await(Deadline deadline) throws InterruptedException {
    boolean ready = event.tryAcquire(deadline.remainingNanos(), TimeUnit.NANOSECONDS);
    armed &= !ready;
    return ready;
  }

  /** Wakes whoever waits. */
  @Override
  public void close() throws KernelException {
    event.release();
    watch.close();
  }
}
