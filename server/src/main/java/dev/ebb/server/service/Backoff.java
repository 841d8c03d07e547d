package dev.ebb.server.service;

import java.time.Duration;

/**
 * How long to wait before retrying what failed: twice as long each time.
 *
 * @param first the wait after the first failure
 * @param most the longest wait
 */
record Backoff(Duration first, Duration most) {
  /** A larger shift would overflow. */
  private static final int DOUBLINGS = 20;

  /** Returns the wait after this many failures in a row, at least one. */
  Duration after(int failures) {
    Duration wait = first.multipliedBy(1L << Math.clamp(failures - 1L, 0, DOUBLINGS));
    return wait.compareTo(most) < 0 ? wait : most;
  }
}
