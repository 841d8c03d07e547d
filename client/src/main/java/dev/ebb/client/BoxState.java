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
  /** Left by the last daemon, and it does not answer; it can be ended. */
  UNREACHABLE,
  /** A state that only daemons know that are newer than this client. */
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

  /** Whether nothing of the box is left but the memory of it. */
  public boolean isOver() {
    return this == GONE || this == LOST;
  }
}
