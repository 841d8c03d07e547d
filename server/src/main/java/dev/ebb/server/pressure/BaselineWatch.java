package dev.ebb.server.pressure;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.pressure.Readings;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/**
 * Learns what the daemon has when it is idle, and tells when it stays above that: then something is
 * not given back. Thread-safe; is looked at by whoever reads the gauges.
 */
public final class BaselineWatch {
  private static final Logger LOG = System.getLogger(BaselineWatch.class.getName());

  /** While it is learned, classes are loaded and pools are filled. */
  private static final int LEARNED_AFTER = 5;

  /** So many idle looks in a row above it are no accident. */
  private static final int STAYS = 3;

  /** What the JDK opens when it first needs it, and keeps: jars, for instance. */
  private static final int SLACK = 4;

  private final InstantSource clock;
  private final Duration quiet;
  private final AtomicInteger requests = new AtomicInteger();
  private final ReentrantLock lock = new ReentrantLock();
  private final BooleanSupplier hasNoBox;
  private final IntSupplier connections;

  @GuardedBy("lock")
  private final Map<String, Integer> baseline = new TreeMap<>();

  @GuardedBy("lock")
  private final Map<String, Integer> excess = new TreeMap<>();

  @GuardedBy("lock")
  private int samples;

  @GuardedBy("lock")
  private int above;

  @GuardedBy("lock")
  private Instant busyAt;

  @GuardedBy("lock")
  private Instant sampledAt = Instant.MIN;

  @GuardedBy("lock")
  private boolean isAlarmed;

  /**
   * Of a daemon.
   *
   * @param quiet how long it must have had nothing to do to count as idle
   * @param connections of callers
   */
  public BaselineWatch(
      InstantSource clock, Duration quiet, BooleanSupplier hasNoBox, IntSupplier connections) {
    this.clock = clock;
    this.quiet = quiet;
    this.hasNoBox = hasNoBox;
    this.connections = connections;
    busyAt = clock.instant();
  }

  public void requestBegins() {
    requests.incrementAndGet();
  }

  public void requestEnds() {
    requests.decrementAndGet();
  }

  /** So many more are kept from now on, on purpose. */
  public void expect(String kind, int more) {
    lock.lock();
    try {
      // Before it is learned, what is there is learned with all else.
      if (samples >= LEARNED_AFTER) {
        baseline.merge(kind, more, Integer::sum);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * How the daemon compares with itself.
   *
   * @param excess what is above the baseline, by how many
   * @param alarm it stays above
   */
  public record State(
      boolean learned, Map<String, Integer> baseline, Map<String, Integer> excess, boolean alarm) {
    public State {
      baseline = new TreeMap<>(baseline);
      excess = new TreeMap<>(excess);
    }
  }

  public State state() {
    lock.lock();
    try {
      return new State(samples >= LEARNED_AFTER, baseline, excess, isAlarmed);
    } finally {
      lock.unlock();
    }
  }

  /** Looks, if the daemon is idle; what there is to tell goes to {@code teller}. */
  void look(Readings readings, PressureWatch.Teller teller) {
    look(() -> Idleness.sample(readings, connections.getAsInt()), teller);
  }

  /** What there is, by its kind. */
  interface Sampler {
    Map<String, Integer> sample() throws KernelException;
  }

  void look(Sampler sampler, PressureWatch.Teller teller) {
    lock.lock();
    try {
      if (isIdle()) {
        sampledAt = clock.instant();
        compare(sampler.sample(), teller);
      }
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=baseline_not_read", e);
    } finally {
      lock.unlock();
    }
  }

  /** Once in each quiet time. */
  @GuardedBy("lock")
  private boolean isIdle() {
    Instant now = clock.instant();
    if (requests.get() > 0 || !hasNoBox.getAsBoolean()) {
      busyAt = now;
    }
    return !busyAt.plus(quiet).isAfter(now)
        && (sampledAt.equals(Instant.MIN) || !sampledAt.plus(quiet).isAfter(now));
  }

  @GuardedBy("lock")
  private void compare(Map<String, Integer> counts, PressureWatch.Teller teller) {
    if (samples < LEARNED_AFTER) {
      samples++;
      for (var each : counts.entrySet()) {
        baseline.merge(each.getKey(), each.getValue(), Math::max);
      }
      return;
    }
    excess.clear();
    for (var each : counts.entrySet()) {
      int idle = baseline.getOrDefault(each.getKey(), 0);
      int more = each.getValue() - idle;
      if (more > slack(each.getKey(), idle)) {
        excess.put(each.getKey(), more);
      }
    }
    above = excess.isEmpty() ? 0 : above + 1;
    boolean isNow = above >= STAYS;
    if (isNow != isAlarmed) {
      isAlarmed = isNow;
      tell(teller);
    }
  }

  private static int slack(String kind, int idle) {
    if (kind.startsWith("thread ")) {
      // A daemon that has not served anybody yet has not started all it keeps.
      return idle == 0 ? 1 : 0;
    }
    return kind.equals("descriptor regular") ? SLACK : 0;
  }

  @GuardedBy("lock")
  private void tell(PressureWatch.Teller teller) {
    LOG.log(
        isAlarmed ? Level.ERROR : Level.INFO,
        "event=baseline_{0} excess={1}",
        isAlarmed ? "exceeded" : "kept",
        excess);
    var data = new LinkedHashMap<String, Object>();
    data.put("state", isAlarmed ? "exceeded" : "kept");
    data.put("excess", new LinkedHashMap<>(excess));
    teller.tell("baseline", data);
  }
}
