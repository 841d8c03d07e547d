package dev.ebb.kernel;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * A moment on the {@link ProcessClock} by which something must have happened: time in which this
 * process did not run does not count. So a wait for {@link #remainingNanos} may end too early, and
 * must be repeated until {@link #isOver}.
 */
public final class Deadline {
  /** A hundred years: as nanoseconds from now it does not overflow. */
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  public static Deadline in(Duration duration) {
    return new Deadline(
        ProcessClock.nanos() + (duration.compareTo(FOREVER) < 0 ? duration : FOREVER).toNanos());
  }

  /** A deadline that never comes. */
  public static Deadline never() {
    return in(FOREVER);
  }

  /** This one, or the one {@code duration} from now if that comes first. */
  public Deadline sooner(Duration duration) {
    Deadline other = in(duration);
    return other.nanos - nanos < 0 ? other : this;
  }

  public long remainingNanos() {
    return Math.max(0, nanos - ProcessClock.nanos());
  }

  public boolean isOver() {
    return remainingNanos() == 0;
  }

  /** Waits for a result; empty when the deadline came first. */
  public <T> Optional<T> await(Future<T> result) throws InterruptedException, ExecutionException {
    do {
      try {
        return Optional.of(result.get(remainingNanos(), TimeUnit.NANOSECONDS));
      } catch (TimeoutException e) {
        // Stopped meanwhile, it has time left.
      }
    } while (!isOver());
    return result.isDone() ? Optional.of(result.get()) : Optional.empty();
  }

  /** Something that has no descriptor to wait for, so that it can only be looked at. */
  public interface Condition<X extends Exception> {
    boolean isMet() throws X;
  }

  /**
   * Looks again and again until the condition is met; false when the deadline came first. Looks at
   * least once, and once more after the deadline. An interrupt does not end it, and is kept.
   *
   * @param pause between two looks
   */
  public <X extends Exception> boolean until(Duration pause, Condition<X> condition) throws X {
    while (!isOver()) {
      if (condition.isMet()) {
        return true;
      }
      park(pause);
    }
    return condition.isMet();
  }

  /** Like {@link #until}, but an interrupt ends it. */
  public <X extends Exception> boolean untilInterrupted(Duration pause, Condition<X> condition)
      throws X, InterruptedException {
    while (!isOver()) {
      if (condition.isMet()) {
        return true;
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      park(pause);
    }
    return condition.isMet();
  }

  /**
   * Waits for a moment before something is tried again; false, at once, when the deadline has
   * passed. An interrupt is kept.
   */
  public boolean pause(Duration pause) {
    if (isOver()) {
      return false;
    }
    park(pause);
    return true;
  }

  /** A thread that is, or has been, interrupted does not park at first. */
  private static void park(Duration pause) {
    boolean interrupted = false;
    long end = System.nanoTime() + pause.toNanos();
    for (long left = pause.toNanos(); left > 0; left = end - System.nanoTime()) {
      interrupted |= Thread.interrupted();
      LockSupport.parkNanos(left);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
