package dev.ebb.client.http;

import java.time.Duration;

/** The latest moment for something to happen, or never. */
final class Deadline {
  static final Deadline NEVER = new Deadline(Duration.ZERO, 0);

  private final Duration patience;
  private final long nanoTime;

  private Deadline(Duration patience, long nanoTime) {
    this.patience = patience;
    this.nanoTime = nanoTime;
  }

  /** Zero means never. */
  static Deadline in(Duration patience) {
    return patience.isZero() ? NEVER : new Deadline(patience, System.nanoTime() + nanos(patience));
  }

  private static long nanos(Duration patience) {
    long centuries = Long.MAX_VALUE / 4;
    return patience.toSeconds() > centuries / 1_000_000_000 ? centuries : patience.toNanos();
  }

  boolean isNever() {
    return patience.isZero();
  }

  long nanosLeft() {
    return nanoTime - System.nanoTime();
  }

  /** Returns the whole duration, for messages. */
  Duration patience() {
    return patience;
  }
}
