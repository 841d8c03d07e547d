package dev.ebb.server.service;

import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Which requests of a box to its proxy are told of: a few each second, for what a box does is not
 * to wash away what others did. Thread-safe.
 */
final class EgressNews {
  private static final int A_SECOND = 10;
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private boolean hasBegun;
  private long begun;
  private int told;
  private long omitted;

  /** How many were omitted since the last one; empty when this one is omitted, too. */
  synchronized OptionalLong admit(long nanos) {
    if (!hasBegun || nanos - begun >= SECOND) {
      hasBegun = true;
      begun = nanos;
      told = 0;
    }
    if (told == A_SECOND) {
      omitted++;
      return OptionalLong.empty();
    }
    told++;
    long before = omitted;
    omitted = 0;
    return OptionalLong.of(before);
  }
}
