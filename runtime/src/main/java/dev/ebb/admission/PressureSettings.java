package dev.ebb.admission;

import java.time.Duration;

/**
 * How a daemon handles pressure.
 *
 * @param queue how many requests may wait when little is left
 * @param patience how long each of them may wait
 * @param quiet how long the daemon must have had nothing to do to count as idle
 */
public record PressureSettings(
    Thresholds thresholds, int queue, Duration patience, Duration quiet) {
  public static final PressureSettings DEFAULT =
      new PressureSettings(Thresholds.DEFAULT, 128, Duration.ofSeconds(10), Duration.ofSeconds(10));
}
