package dev.ebb.server.service;

import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Decides which proxy requests of a box become events: a few each second, so that one box does not
 * push the events of others out of the ring. Thread-safe.
 */
final class EgressNews {
  private static final int A_SECOND = 10;
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private boolean hasBegun;
  private long begun;
  private int published;
  private long omitted;

  /** Returns how many were omitted since the last one; empty if this one is omitted, too. */
  synchronized OptionalLong admit(long nanos) {
    if (!hasBegun || nanos - begun >= SECOND) {
      hasBegun = true;
      begun = nanos;
      published = 0;
    }
    if (published == A_SECOND) {
      omitted++;
      return OptionalLong.empty();
    }
    published++;
    long before = omitted;
    omitted = 0;
    return OptionalLong.of(before);
  }
}
