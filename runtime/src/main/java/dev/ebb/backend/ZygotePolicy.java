package dev.ebb.backend;

import java.time.Duration;

/**
 * What a zygote is, and when another takes its place.
 *
 * @param age after which it makes no more boxes
 * @param count how many it makes at most
 */
public record ZygotePolicy(Zygote zygote, Duration age, int count) {
  public ZygotePolicy {
    if (!age.isPositive() || count < 1) {
      throw new IllegalArgumentException("a zygote of " + count + " boxes for " + age);
    }
  }
}
