package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.model.Certificate;
import dev.ebb.model.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Counts what a release finds and releases, for its certificate. */
final class ReleaseTally {
  private final Map<Kind, Integer> held = new EnumMap<>(Kind.class);
  private final Map<Kind, Integer> released = new EnumMap<>(Kind.class);
  private final List<Certificate.Stuck> stuck = new ArrayList<>();
  private final long start = System.nanoTime();

  void held(Kind kind, int count) {
    if (count > 0) {
      held.merge(kind, count, Integer::sum);
    }
  }

  /** Counts resources that were observed to be gone. */
  void released(Kind kind, int count) {
    if (count > 0) {
      released.merge(kind, count, Integer::sum);
    }
  }

  void stuck(Kind kind, String subject, String reason) {
    stuck.add(new Certificate.Stuck(kind, subject, reason));
  }

  boolean isClean() {
    return stuck.isEmpty();
  }

  Certificate certify(BoxId box) {
    return new Certificate(
        box.value(), held, released, stuck, Duration.ofNanos(System.nanoTime() - start));
  }
}
