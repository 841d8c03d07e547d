package dev.ebb.kernel;

import java.time.Duration;

/**
 * Detects that this process has not run for a while. Messages that came meanwhile may be unread, so
 * a housekeeper should end nothing in this round. Not thread-safe.
 */
public final class StallWatch {
  private static final Duration SHORT = Duration.ofMillis(100);

  /** A process that is starved all the time still ends things. */
  private static final int IN_A_ROW_MOST = 3;

  private Duration seen;
  private int inARow;

  public StallWatch() {
    seen = ProcessClock.stalled();
  }

  /** Whether the process stood still since the last call. */
  public boolean hasStalled() {
    Duration now = ProcessClock.stalled();
    boolean isNew = now.minus(seen).compareTo(SHORT) > 0;
    seen = now;
    inARow = isNew ? inARow + 1 : 0;
    return isNew && inARow <= IN_A_ROW_MOST;
  }
}
