package dev.ebb.server.service;

import java.time.Duration;

/**
 * How long to wait before the next try of what failed: twice as long each time.
 *
 * @param first after the first failure
 * @param most never longer
 */
record Backoff(Duration first, Duration most) {
  /** Beyond, a shift would overflow. */
  private static final int DOUBLINGS = 20;

  /** After so many failures in a row, at least one. */
  Duration after(int failures) {
    Duration wait = first.multipliedBy(1L << Math.clamp(failures - 1L, 0, DOUBLINGS));
    return wait.compareTo(most) < 0 ? wait : most;
  }
}
