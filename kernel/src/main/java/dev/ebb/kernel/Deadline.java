package dev.ebb.kernel;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

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
}
