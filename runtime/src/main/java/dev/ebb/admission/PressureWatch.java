package dev.ebb.admission;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Reserve;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the gauges about once a second, and whenever an admission needs them; reports when a level
 * changes, and cleans up when one is alarming. Thread-safe; owns one thread.
 */
public final class PressureWatch implements Meter, AdmissionControl, AutoCloseable {
  private static final Logger LOG = System.getLogger(PressureWatch.class.getName());
  private static final Duration ROUND = Duration.ofSeconds(1);

  /** A reading younger than this is as good as a new one. */
  private static final Duration FRESH = Duration.ofMillis(20);

  /** How often cleanups repeat while a level stays alarming. */
  private static final Duration CLEANUP_PAUSE = Duration.ofSeconds(10);

  /** Reserved for requests that end boxes. */
  private static final int RESERVED_DESCRIPTORS = 24;

  private static final Duration LAST_PATIENCE = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(5);

  /**
   * The resources that a box or a command is made of: making one fails when one of these runs out.
   */
  private static final Set<Resource> MATERIAL =
      Set.of(Resource.PIDS, Resource.DESCRIPTORS, Resource.MEMORY);

  private final Gauges gauges;
  private final Reserve reserve;
  private final PressureSettings settings;
  private final Admission admission;
  private final OrderedLock lock = new OrderedLock(LockOrder.PRESSURE_READING);
  private final Condition alarm = lock.newCondition();

  private final PressureNews news = new PressureNews();
  private final Cleanups cleanups = new Cleanups();

  @GuardedBy("lock")
  private final Map<Resource, PressureLevel> published = new EnumMap<>(Resource.class);

  /** The first reading since the last cleanup at which a level became alarming. */
  @GuardedBy("lock")
  private @Nullable Reading alarming;

  @GuardedBy("lock")
  private boolean isCleaning;

  private volatile Readings latest;
  private volatile Clock clock = (took, isLetIn) -> {};
  private volatile @Nullable BaselineWatch baseline;
  private volatile Instant alertAt = Instant.MIN;
  private long cleanedAt = System.nanoTime() - CLEANUP_PAUSE.toNanos(); // for the thread alone
  private final Thread thread;

  /** Receives what happens. */
  public interface Publisher {
    void publish(String kind, Map<String, Object> data);
  }

  /** Measures how long a caller waits until it is admitted or refused. */
  public interface Clock {
    void took(Duration duration, boolean isLetIn);
  }

  /** Reports the duration of each admission to {@code by} from now on. */
  public void time(Clock by) {
    clock = by;
  }

  PressureWatch(Gauges gauges, Reserve reserve, PressureSettings settings) throws KernelException {
    this.gauges = gauges;
    this.reserve = reserve;
    this.settings = settings;
    latest = gauges.read();
    admission = new Admission(this, settings.thresholds(), settings.queue(), settings.patience());
    thread = Thread.ofVirtual().name("ebb-pressure").unstarted(this::watch);
  }

  /** Opens a watch that reads only when asked, until it is started. */
  public static PressureWatch open(Scope scope, Path home, PressureSettings settings)
      throws KernelException {
    Reserve reserve = Reserve.open(scope, RESERVED_DESCRIPTORS);
    var watch = new PressureWatch(new Gauges(home, settings.thresholds()), reserve, settings);
    scope.own(watch::close);
    return watch;
  }

  /** Registers what this stage gives back. */
  public void register(Cleanup.Stage stage, Cleanup cleanup) {
    cleanups.register(stage, cleanup);
  }

  /** Starts to watch and to clean up. */
  public void start() {
    thread.start();
  }

  /** Starts to watch, to clean up, and to publish. */
  public void start(Publisher to, BaselineWatch idle) {
    news.publishTo(to);
    baseline = idle;
    start();
  }

  // --- admission ---

  @Override
  public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft)
      throws InterruptedException {
    Leak.leakIfConfigured();
    long begun = System.nanoTime();
    try {
      Permit permit = admission.admit(tenant, cost, hasLeft);
      clock.took(Duration.ofNanos(System.nanoTime() - begun), true);
      return permit;
    } catch (Refusal e) {
      clock.took(Duration.ofNanos(System.nanoTime() - begun), false);
      throw SandboxException.later(
          ErrorCode.PRESSURE,
          String.valueOf(e.getMessage()),
          e.retryAfter(),
          facts(e.reading(), e.reason().wireName()));
    }
  }

  /** None while something is short. */
  @Override
  public int fitting(Cost each, int part) {
    Readings known = latest();
    return known.level().isAtLeast(PressureLevel.ALERT) ? 0 : known.fitting(each, part);
  }

  private static Map<String, Object> facts(Reading reading, String reason) {
    var facts = PressureNews.describe(reading);
    facts.put("reason", reason);
    return facts;
  }

  @Override
  public SandboxException explain(SandboxException failure, Instant begun) {
    if (!maybeByShortage(failure.code())) {
      return failure;
    }
    Reading worst = fresh().worst();
    if (!alertAt.isAfter(begun) && !isMaterialAlert(worst)) {
      return failure;
    }
    var explained =
        SandboxException.later(
            ErrorCode.PRESSURE,
            failure.getMessage() + "; too little was left: " + worst,
            RETRY,
            facts(worst, Refusal.Reason.FULL.wireName()));
    explained.addSuppressed(failure);
    return explained;
  }

  private static boolean maybeByShortage(ErrorCode code) {
    return switch (code) {
      case SETUP_FAILED, SETUP_TIMED_OUT, PRESSURE -> true;
      default -> false;
    };
  }

  public Admission admission() {
    return admission;
  }

  // --- readings ---

  @Override
  public Readings latest() {
    return Reserve.spent() == 0 ? latest : fresh();
  }

  @Override
  public Readings fresh() {
    lock.lock();
    try {
      Readings known = latest;
      boolean isFresh = Duration.between(known.at(), Instant.now()).compareTo(FRESH) < 0;
      return isFresh ? known : read();
    } finally {
      lock.unlock();
      news.publishPending();
    }
  }

  /** Reads the gauges, one thread at a time. */
  @GuardedBy("lock")
  private Readings read() {
    var mark = admission.beforeReading();
    Readings next;
    try {
      next = gauges.read();
    } catch (KernelException | RuntimeException e) {
      news.addFailure(e);
      return latest;
    }
    latest = next;
    admission.afterReading(mark);
    for (Reading reading : next.readings()) {
      addChange(reading);
    }
    if (next.readings().stream().anyMatch(PressureWatch::isMaterialAlert)) {
      alertAt = next.at();
    }
    mindReserve(next);
    return next;
  }

  private static boolean isMaterialAlert(Reading reading) {
    return MATERIAL.contains(reading.resource()) && reading.level().isAtLeast(PressureLevel.ALERT);
  }

  /** Frees the reserve at level FULL, for what the JDK and Jetty open. */
  private void mindReserve(Readings readings) {
    if (readings.of(Resource.DESCRIPTORS).level() == PressureLevel.FULL) {
      reserve.spendAll();
    } else if (Reserve.spent() > 0) {
      try {
        var _ = reserve.takeBack();
      } catch (KernelException e) {
        LOG.log(Level.ERROR, "event=reserve_not_taken_back", e);
      }
    }
  }

  /**
   * Adds each level on the way up, and only the last level on the way down.
   *
   * <p>ORDER: a cleanup is published before the level that it led to.
   */
  @GuardedBy("lock")
  private void addChange(Reading now) {
    PressureLevel before = published.getOrDefault(now.resource(), PressureLevel.OK);
    if (isCleaning && now.level().compareTo(before) < 0) {
      return;
    }
    published.put(now.resource(), now.level());
    for (PressureLevel level : PressureLevel.values()) {
      if (level.compareTo(before) > 0 && level.compareTo(now.level()) <= 0) {
        news.addLevel(now, level, before);
      }
    }
    if (now.level().compareTo(before) < 0) {
      news.addLevel(now, now.level(), before);
    }
    if (now.level().isAtLeast(PressureLevel.ALERT) && !before.isAtLeast(PressureLevel.ALERT)) {
      if (alarming == null) {
        alarming = now;
      }
      isCleaning = true;
      alarm.signal();
    }
  }

  // --- cleanup ---

  private void watch() {
    try {
      while (true) {
        watch(awaitRound());
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=pressure_watch_ends");
    }
  }

  /** Runs one round; its failure does not end the watch. */
  private void watch(Optional<Reading> alarming) throws InterruptedException {
    try {
      lookAtBaseline();
      boolean isDue = System.nanoTime() - cleanedAt >= CLEANUP_PAUSE.toNanos();
      // A level that was alarming only for a moment is reason enough to clean up.
      if (alarming.isPresent() || (isDue && fresh().level().isAtLeast(PressureLevel.ALERT))) {
        cleaning(true);
        try {
          clean(alarming.orElseGet(() -> fresh().worst()));
        } finally {
          cleaning(false);
        }
        cleanedAt = System.nanoTime();
      }
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=pressure_round_failed", e);
    }
  }

  private void lookAtBaseline() {
    BaselineWatch idle = baseline;
    if (idle != null) {
      idle.look(readNow(), news.publisher());
    }
  }

  /** Waits for the next round; returns the reading at which a level has become alarming, if any. */
  private Optional<Reading> awaitRound() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long nanos = ROUND.toNanos();
      while (alarming == null && nanos > 0) {
        nanos = alarm.awaitNanos(nanos);
      }
      Optional<Reading> was = Optional.ofNullable(alarming);
      alarming = null;
      return was;
    } finally {
      lock.unlock();
    }
  }

  private void cleaning(boolean is) {
    lock.lock();
    try {
      isCleaning = is;
      alarming = null;
      for (Reading reading : latest.readings()) {
        addChange(reading);
      }
    } finally {
      lock.unlock();
      news.publishPending();
    }
  }

  private void clean(Reading cause) throws InterruptedException {
    news.addCleanup(cleanups.clean(cause, this::readNow));
    news.publishPending();
  }

  private Readings readNow() {
    lock.lock();
    try {
      return read();
    } finally {
      lock.unlock();
      news.publishPending();
    }
  }

  public Optional<Cleaned> lastCleanup() {
    return cleanups.last();
  }

  public PressureSettings settings() {
    return settings;
  }

  /** Waits a little for a round that is under way. */
  @Override
  public void close() {
    thread.interrupt();
    try {
      if (thread.isAlive() && !thread.join(LAST_PATIENCE)) {
        LOG.log(Level.WARNING, "event=pressure_watch_left");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
