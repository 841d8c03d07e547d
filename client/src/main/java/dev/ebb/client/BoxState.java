package dev.ebb.client;

import java.util.Locale;

/** Where a box is in its life. */
public enum BoxState {
  CREATING,
  RUNNING,
  PAUSED,
  STOPPING,
  GONE,
  STUCK,
  LOST,
  /** Left by the last daemon, and it does not answer; it can be ended. */
  UNREACHABLE,
  /** A word of a daemon that is newer than this client. */
  UNKNOWN;

  static BoxState of(String word) {
    for (BoxState state : values()) {
      if (state.word().equals(word)) {
        return state;
      }
    }
    return UNKNOWN;
  }

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether nothing of the box is left but the memory of it. */
  public boolean isOver() {
    return this == GONE || this == LOST;
  }
}
