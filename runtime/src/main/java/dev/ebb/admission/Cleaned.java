package dev.ebb.admission;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** What one cleanup did, and whether it helped. */
public record Cleaned(Instant at, Duration took, Reading before, Reading after, List<Step> stages) {
  public Cleaned {
    stages = List.copyOf(stages);
  }

  /**
   * One stage of it.
   *
   * @param use of what was short, afterwards
   */
  public record Step(Cleanup.Stage stage, int released, long use) {}
}
