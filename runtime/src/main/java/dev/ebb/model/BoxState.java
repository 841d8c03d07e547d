package dev.ebb.model;

import java.util.Locale;

/** The state of a box. */
public enum BoxState {
  CREATING,
  RUNNING,
  PAUSED,
  STOPPING,
  /** Its release is not proven yet. */
  STUCK,
  /** It was found dead. */
  LOST,
  /** It does not answer, or its record cannot be read. */
  UNREACHABLE,
  GONE;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether its commands exist, running or frozen. */
  public boolean isAlive() {
    return this == RUNNING || this == PAUSED;
  }
}
