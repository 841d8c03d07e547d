package dev.ebb.server.http;

import dev.ebb.kernel.Deadline;
import java.time.Duration;

/** How long a caller is willing to wait. Time in which this process does not run is not counted. */
public final class Patience {
  private final Deadline end;

  private Patience(Deadline end) {
    this.end = end;
  }

  public static Patience of(Duration duration) {
    return new Patience(Deadline.in(duration));
  }

  public Duration left() {
    return Duration.ofNanos(end.remainingNanos());
  }

  public boolean isOver() {
    return end.isOver();
  }
}
