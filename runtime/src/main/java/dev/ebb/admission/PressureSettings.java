package dev.ebb.admission;

import java.time.Duration;

/**
 * What a daemon does about pressure.
 *
 * @param queue how many may wait to begin when little is left
 * @param patience how long each of them may
 * @param quiet how long nothing may have happened for the daemon to count as idle
 */
public record PressureSettings(
    Thresholds thresholds, int queue, Duration patience, Duration quiet) {
  public static final PressureSettings DEFAULT =
      new PressureSettings(Thresholds.DEFAULT, 128, Duration.ofSeconds(10), Duration.ofSeconds(10));
}
