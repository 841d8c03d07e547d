package dev.ebb.backend;

import java.time.Duration;

/**
 * The zygote to use, and when it is replaced.
 *
 * @param age the age after which it makes no more boxes
 * @param count the most boxes that it makes
 */
public record ZygotePolicy(Zygote zygote, Duration age, int count) {
  public ZygotePolicy {
    if (!age.isPositive() || count < 1) {
      throw new IllegalArgumentException("a zygote of " + count + " boxes for " + age);
    }
  }
}
