package dev.ebb.server.service;

import dev.ebb.engine.Engine;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.Kind;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Sweeps periodically and on request: compares the host with the ledger, and releases what dead
 * runtimes left. Counts what it finds. Thread-safe; owns one thread.
 */
public final class Sweeper implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Sweeper.class.getName());

  /** Keeps daemons that were started together from sweeping together. */
  private static final double JITTER = 0.2;

  private static final Duration SOON = Duration.ofSeconds(5);

  /** Events without a tenant go to admins only. */
  static final String NO_TENANT = "";

  private final Engine engine;
  private final BoxRegistry boxes;
  private final Duration interval;
  private final Thread thread;

  /** One sweep at a time; reading the counts does not wait for it. */
  private final OrderedLock sweeping = new OrderedLock(LockOrder.SWEEPING);

  private final OrderedLock lock = new OrderedLock(LockOrder.SWEEPER);
  private final Map<Kind, Long> found = new EnumMap<>(Kind.class);
  private final Map<Kind, Long> recovered = new EnumMap<>(Kind.class);
  private long sweeps;
  private int stuckInARow;
  private @Nullable Sweep last;

  /**
   * The result of one sweep.
   *
   * @param own what differed from the ledger of this daemon: nothing, in a healthy system
   * @param others what dead runtimes had left
   */
  public record Sweep(
      Instant at, Duration took, boolean dryRun, List<Finding> own, List<Finding> others) {
    public Sweep {
      own = List.copyOf(own);
      others = List.copyOf(others);
    }

    public Stream<Finding> findings() {
      return Stream.concat(own.stream(), others.stream());
    }

    public long stuck() {
      return findings().filter(each -> each.fate() instanceof Fate.Stuck).count();
    }
  }

  /**
   * The sum of all sweeps since the start, without dry runs.
   *
   * @param interval zero: only on request
   */
  public record Totals(
      Duration interval,
      long sweeps,
      Map<Kind, Long> found,
      Map<Kind, Long> recovered,
      Optional<Sweep> last) {
    public Totals {
      found = Map.copyOf(found);
      recovered = Map.copyOf(recovered);
    }
  }

  /**
   * Begins to sweep.
   *
   * @param interval zero: only on request
   */
  public Sweeper(Engine engine, BoxRegistry boxes, Duration interval, Metrics metrics) {
    this.engine = engine;
    this.boxes = boxes;
    this.interval = interval;
    measure(metrics);
    thread = Thread.ofVirtual().name("ebb-sweeper").unstarted(this::sweepNowAndThen);
    if (interval.isPositive()) {
      thread.start();
    }
  }

  private void measure(Metrics metrics) {
    metrics.counter("ebb_sweeps_total", "Sweeps of the host.", () -> totals().sweeps());
    metrics.counter(
        "ebb_sweep_findings_total",
        "What sweeps found that was not on the ledger, or not on the host; 0 in a healthy system.",
        "kind",
        () -> byKind(totals().found()));
    metrics.counter(
        "ebb_sweep_recovered_total",
        "What sweeps released of runtimes that had died.",
        "kind",
        () -> byKind(totals().recovered()));
  }

  private static Map<String, Double> byKind(Map<Kind, Long> counts) {
    var all = new LinkedHashMap<String, Double>();
    for (Kind kind : Kind.values()) {
      all.put(kind.wireName(), counts.getOrDefault(kind, 0L).doubleValue());
    }
    return all;
  }

  private void sweepNowAndThen() {
    var random = RandomGenerator.getDefault();
    try {
      while (true) {
        Thread.sleep(pause(interval, stuckInARow(), random));
        sweepAndGoOn();
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=sweeper_ends");
    }
  }

  private void sweepAndGoOn() {
    try {
      var _ = sweep(false);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=sweep_failed", e);
    }
  }

  /**
   * Returns about one interval; less while something is stuck, and more again the longer it is
   * stuck.
   */
  static Duration pause(Duration interval, int stuckInARow, RandomGenerator random) {
    Duration base = stuckInARow == 0 ? interval : new Backoff(SOON, interval).after(stuckInARow);
    double factor = 1 + JITTER * (2 * random.nextDouble() - 1);
    return Duration.ofMillis(Math.max(1, Math.round(base.toMillis() * factor)));
  }

  private int stuckInARow() {
    lock.lock();
    try {
      return stuckInARow;
    } finally {
      lock.unlock();
    }
  }

  /** Sweeps now; a dry run only reports. Unreachable boxes are retried when their time has come. */
  public Sweep sweep(boolean dryRun) {
    sweeping.lock();
    try {
      Instant at = Instant.now();
      long start = System.nanoTime();
      List<Finding> own = engine.audit(dryRun);
      List<Finding> others = engine.recoverOthers(dryRun);
      var sweep = new Sweep(at, Duration.ofNanos(System.nanoTime() - start), dryRun, own, others);
      if (!dryRun) {
        count(sweep);
      }
      return sweep;
    } finally {
      sweeping.unlock();
    }
  }

  private void count(Sweep sweep) {
    List<Finding> news;
    lock.lock();
    try {
      news = add(sweep);
    } finally {
      lock.unlock();
    }
    news.forEach(this::publish);
  }

  /** Counts the findings of a sweep, and returns the new ones. */
  private List<Finding> add(Sweep sweep) {
    sweeps++;
    stuckInARow = sweep.stuck() > 0 ? stuckInARow + 1 : 0;
    sweep.own().forEach(each -> found.merge(each.kind(), 1L, Long::sum));
    sweep.others().stream()
        .filter(each -> each.fate() instanceof Fate.Released)
        .forEach(each -> recovered.merge(each.kind(), 1L, Long::sum));
    List<Finding> news = sweep.findings().filter(each -> isNews(each)).toList();
    last = sweep;
    return news;
  }

  /** Returns false for what the last sweep already found stuck or lost. */
  private boolean isNews(Finding finding) {
    boolean isWord =
        !(finding.fate() instanceof Fate.Absent || finding.fate() instanceof Fate.Kept);
    Sweep before = last;
    return isWord && (before == null || before.findings().noneMatch(finding::equals));
  }

  private void publish(Finding finding) {
    var data = new LinkedHashMap<String, Object>();
    data.put("instance", finding.instance());
    data.put("kind", finding.kind().wireName());
    data.put("subject", finding.subject());
    data.put("fate", finding.fate().describe());
    LOG.log(
        Level.WARNING,
        "event=swept instance={0} kind={1} subject=\"{2}\" fate=\"{3}\"",
        finding.instance(),
        finding.kind().wireName(),
        finding.subject(),
        finding.fate().describe());
    boxes.events().publish(NO_TENANT, "sweep", data);
  }

  public Totals totals() {
    lock.lock();
    try {
      return new Totals(interval, sweeps, found, recovered, Optional.ofNullable(last));
    } finally {
      lock.unlock();
    }
  }

  /** Ends the thread, and waits for a sweep that is running. */
  @Override
  public void close() {
    thread.interrupt();
    sweeping.lock();
    try {
      LOG.log(Level.DEBUG, "event=sweeper_ended");
    } finally {
      sweeping.unlock();
    }
  }
}
