package dev.ebb.admission;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The registered cleanups, run stage by stage. Thread-safe. */
final class Cleanups {
  private static final Logger LOG = System.getLogger(Cleanups.class.getName());

  /** Sorted by stage. */
  private final Map<Cleanup.Stage, Cleanup> stages = new ConcurrentSkipListMap<>();

  private volatile @Nullable Cleaned last;

  void register(Cleanup.Stage stage, Cleanup cleanup) {
    stages.put(stage, cleanup);
  }

  Optional<Cleaned> last() {
    return Optional.ofNullable(last);
  }

  /**
   * Cleans up stage by stage until no level is alarming.
   *
   * @param before the reading that caused the cleanup; its resource is the one reported
   * @param gauges reads the gauges again
   */
  Cleaned clean(Reading before, Supplier<Readings> gauges) throws InterruptedException {
    Instant at = Instant.now();
    long begun = System.nanoTime();
    Reading after = before;
    var steps = new ArrayList<Cleaned.Step>();
    for (var each : stages.entrySet()) {
      int released = clean(each.getKey(), each.getValue(), gauges);
      Readings now = gauges.get();
      after = now.of(before.resource());
      steps.add(new Cleaned.Step(each.getKey(), released, after.use()));
      if (isEnough(now)) {
        break;
      }
    }
    var took = Duration.ofNanos(System.nanoTime() - begun);
    var done = new Cleaned(at, took, before, after, steps);
    last = done;
    return done;
  }

  private static int clean(Cleanup.Stage stage, Cleanup cleanup, Supplier<Readings> gauges)
      throws InterruptedException {
    try {
      return cleanup.clean(() -> isEnough(gauges.get()));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=cleanup_failed stage=" + stage.wireName(), e);
      return 0;
    }
  }

  private static boolean isEnough(Readings readings) {
    return !readings.level().isAtLeast(PressureLevel.ALERT);
  }
}
