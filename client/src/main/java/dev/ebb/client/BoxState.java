package dev.ebb.client;

import java.util.Locale;

/** The state of a box. */
public enum BoxState {
  CREATING,
  RUNNING,
  PAUSED,
  STOPPING,
  GONE,
  STUCK,
  LOST,
  /** Left by the last daemon, and does not answer; it can be ended. */
  UNREACHABLE,
  /** A state that this client does not know; the daemon is newer. */
  UNKNOWN;

  static BoxState of(String word) {
    for (BoxState state : values()) {
      if (state.wireName().equals(word)) {
        return state;
      }
    }
    return UNKNOWN;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether nothing of the box is left but its record. */
  public boolean isOver() {
    return this == GONE || this == LOST;
  }
}
