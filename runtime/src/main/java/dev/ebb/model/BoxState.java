package dev.ebb.model;

import java.util.Locale;

/** Where a box is in its life. */
public enum BoxState {
  CREATING,
  RUNNING,
  PAUSED,
  STOPPING,
  /** Its release is not proven yet. */
  STUCK,
  /** Found dead. */
  LOST,
  /** Found, but it does not answer, or nobody can read what it is. */
  UNREACHABLE,
  GONE;

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Its commands are there, running or frozen. */
  public boolean isAlive() {
    return this == RUNNING || this == PAUSED;
  }
}
