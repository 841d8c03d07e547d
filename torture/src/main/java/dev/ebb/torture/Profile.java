package dev.ebb.torture;

import java.time.Duration;
import java.util.Locale;

/** How much load a run makes. */
public enum Profile {
  /** A short run, for a first look and for the tests. */
  QUICK(4, 64, Duration.ofSeconds(10), 4),
  /** A run of a night: larger trees, more memory storms, more kills. */
  FULL(8, 192, Duration.ofSeconds(20), 8);

  private final int boxes;
  private final int pids;
  private final Duration wave;
  private final int daemonKills;

  Profile(int boxes, int pids, Duration wave, int daemonKills) {
    this.boxes = boxes;
    this.pids = pids;
    this.wave = wave;
    this.daemonKills = daemonKills;
  }

  /** How many boxes there are at once. */
  public int boxes() {
    return boxes;
  }

  /** The most processes of a box. */
  int pids() {
    return pids;
  }

  /** How long a wave lasts until all of it is ended and judged. */
  Duration wave() {
    return wave;
  }

  /** The percentage of kills that hit the daemon. */
  int daemonKills() {
    return daemonKills;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
