package dev.ebb.admission;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/**
 * Learns the resources of the idle daemon, and reports when it stays above them, which means a
 * leak. Thread-safe; driven by the thread that reads the gauges.
 */
public final class BaselineWatch {
  private static final Logger LOG = System.getLogger(BaselineWatch.class.getName());

  /** Classes are loaded and pools filled while the baseline is learned. */
  private static final int LEARNED_AFTER = 5;

  /** After this many idle samples in a row the excess is no accident. */
  private static final int STAYS = 3;

  /** For descriptors that the JDK opens when it first needs them and keeps, such as jars. */
  private static final int SLACK = 4;

  private final InstantSource clock;
  private final Duration quiet;
  private final AtomicInteger requests = new AtomicInteger();
  private final OrderedLock lock = new OrderedLock(LockOrder.BASELINE);
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
   * Makes a watch.
   *
   * @param quiet how long the daemon must have had nothing to do to count as idle
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

  /** Raises the baseline for resources that are kept on purpose from now on. */
  public void expect(String kind, int more) {
    lock.lock();
    try {
      // Before the baseline is learned, these are learned with all others.
      if (samples >= LEARNED_AFTER) {
        baseline.merge(kind, more, Integer::sum);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * The daemon compared with its baseline.
   *
   * @param excess how many of each kind are above the baseline
   * @param alarm whether it stays above
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

  /**
   * Takes a sample if the daemon is idle, and publishes a change of the alarm to {@code publisher}.
   */
  void look(Readings readings, PressureWatch.Publisher publisher) {
    look(() -> Idleness.sample(readings, connections.getAsInt()), publisher);
  }

  /** Counts resources by kind. */
  interface Sampler {
    Map<String, Integer> sample() throws KernelException;
  }

  void look(Sampler sampler, PressureWatch.Publisher publisher) {
    boolean isBusy = requests.get() > 0 || !hasNoBox.getAsBoolean();
    if (!isTime(isBusy)) {
      return;
    }
    try {
      compare(sampler.sample()).ifPresent(news -> publish(news, publisher));
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=baseline_not_read", e);
    }
  }

  /** Returns true once in each quiet period. */
  private boolean isTime(boolean isBusy) {
    lock.lock();
    try {
      Instant now = clock.instant();
      if (isBusy) {
        busyAt = now;
      }
      boolean isTime =
          !busyAt.plus(quiet).isAfter(now)
              && (sampledAt.equals(Instant.MIN) || !sampledAt.plus(quiet).isAfter(now));
      if (isTime) {
        sampledAt = now;
      }
      return isTime;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the state if the alarm has changed. */
  private Optional<State> compare(Map<String, Integer> counts) {
    lock.lock();
    try {
      boolean before = isAlarmed;
      learnOrCompare(counts);
      return isAlarmed == before
          ? Optional.empty()
          : Optional.of(new State(true, baseline, excess, isAlarmed));
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void learnOrCompare(Map<String, Integer> counts) {
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
    isAlarmed = above >= STAYS;
  }

  private static int slack(String kind, int idle) {
    if (kind.startsWith("thread ")) {
      // A daemon that has served no request yet has not started all that it keeps.
      return idle == 0 ? 1 : 0;
    }
    return kind.equals("descriptor regular") ? SLACK : 0;
  }

  private static void publish(State news, PressureWatch.Publisher publisher) {
    String state = news.alarm() ? "exceeded" : "kept";
    LOG.log(
        news.alarm() ? Level.ERROR : Level.INFO,
        "event=baseline_{0} excess={1}",
        state,
        news.excess());
    var data = new LinkedHashMap<String, Object>();
    data.put("state", state);
    data.put("excess", new LinkedHashMap<>(news.excess()));
    publisher.publish("baseline", data);
  }
}
