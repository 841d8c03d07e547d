package dev.ebb.admission;

import java.util.Locale;

/** How near a limit is, the worst last. */
public enum PressureLevel {
  OK,
  /** It is reported. */
  WARN,
  /** Cleanups run, and work begins one at a time. */
  ALERT,
  /** No work begins. */
  FULL;

  public boolean isAtLeast(PressureLevel other) {
    return compareTo(other) >= 0;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
