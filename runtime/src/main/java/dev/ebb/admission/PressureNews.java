package dev.ebb.admission;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Reports changes of levels, and cleanups, in the order in which they happened, to the log and to a
 * publisher. Events are added under the lock of the reader, and published without it. Thread-safe.
 */
final class PressureNews {
  private static final Logger LOG = System.getLogger(PressureNews.class.getName());

  private final Queue<Runnable> pending = new ConcurrentLinkedQueue<>();
  private final OrderedLock publishing = new OrderedLock(LockOrder.PRESSURE_NEWS);
  private volatile PressureWatch.Publisher publisher = (kind, data) -> {};

  void publishTo(PressureWatch.Publisher to) {
    publisher = to;
  }

  PressureWatch.Publisher publisher() {
    return publisher;
  }

  void addLevel(Reading reading, PressureLevel level, PressureLevel before) {
    pending.add(() -> publish(reading, level, before));
  }

  void addCleanup(Cleaned done) {
    pending.add(() -> publish(done));
  }

  /** Adds that the gauges cannot be read. */
  void addFailure(Exception e) {
    pending.add(() -> LOG.log(Level.ERROR, "event=gauges_failed", e));
  }

  /** Publishes what is pending, unless another thread does so now. */
  void publishPending() {
    // RACE: an event added while another thread publishes is seen by that thread, or here.
    while (!pending.isEmpty() && publishing.tryLock()) {
      try {
        for (Runnable next = pending.poll(); next != null; next = pending.poll()) {
          next.run();
        }
      } finally {
        publishing.unlock();
      }
    }
  }

  private void publish(Reading reading, PressureLevel level, PressureLevel before) {
    LOG.log(
        level.isAtLeast(before) ? Level.WARNING : Level.INFO,
        "event=pressure_{0} {1}",
        level.wireName(),
        reading);
    var data = describe(reading);
    data.put("level", level.wireName());
    data.put("before", before.wireName());
    publisher.publish("pressure", data);
  }

  static Map<String, Object> describe(Reading reading) {
    var data = new LinkedHashMap<String, Object>();
    data.put("resource", reading.resource().wireName());
    data.put("use", reading.use());
    if (reading.hasLimit()) {
      data.put("limit", reading.limit());
    }
    data.put("source", reading.source());
    data.put("percent", Math.round(reading.percent()));
    return data;
  }

  private void publish(Cleaned done) {
    LOG.log(
        Level.WARNING,
        "event=pressure_cleanup before=\"{0}\" after=\"{1}\" stages={2} millis={3}",
        done.before(),
        done.after(),
        done.stages(),
        done.took().toMillis());
    var data = describe(done.after());
    data.put("level", "cleanup");
    data.put("useBefore", done.before().use());
    data.put("stages", stages(done));
    data.put("durationMillis", done.took().toMillis());
    publisher.publish("pressure", data);
  }

  private static List<Map<String, Object>> stages(Cleaned done) {
    return done.stages().stream()
        .map(
            step ->
                Map.<String, Object>of(
                    "stage", step.stage().wireName(),
                    "released", step.released(),
                    "use", step.use()))
        .toList();
  }
}
