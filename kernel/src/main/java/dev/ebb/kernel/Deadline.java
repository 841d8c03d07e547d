package dev.ebb.kernel;

import java.time.Duration;

/** A moment on the monotonic clock by which something must have happened. */
public final class Deadline {
  private final long nanos;

  private Deadline(long nanos) {
    this.nanos = nanos;
  }

  public static Deadline in(Duration duration) {
    // A hundred years is for ever, and does not overflow.
    return new Deadline(System.nanoTime() + Math.min(duration.toNanos(), Long.MAX_VALUE / 4));
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
