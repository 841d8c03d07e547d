package dev.ebb.kernel;

import java.time.Duration;

/** A moment on the monotonic clock by which something must have happened. */
public final class Deadline {
  /** A hundred years: as nanoseconds from now it does not overflow. */
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  public static Deadline in(Duration duration) {
    return new Deadline(
        System.nanoTime() + (duration.compareTo(FOREVER) < 0 ? duration : FOREVER).toNanos());
  }

  /** This one, or the one {@code duration} from now if that comes first. */
  public Deadline sooner(Duration duration) {
    Deadline other = in(duration);
    return other.nanos - nanos < 0 ? other : this;
  }

  public long remainingNanos() {
    return Math.max(0, nanos - System.nanoTime());
  }

  public boolean isOver() {
    return remainingNanos() == 0;
  }
}
