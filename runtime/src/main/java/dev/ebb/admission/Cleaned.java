package dev.ebb.admission;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** The result of one cleanup. */
public record Cleaned(Instant at, Duration took, Reading before, Reading after, List<Step> stages) {
  public Cleaned {
    stages = List.copyOf(stages);
  }

  /**
   * The result of one stage.
   *
   * @param use of the short resource afterwards
   */
  public record Step(Cleanup.Stage stage, int released, long use) {}
}
