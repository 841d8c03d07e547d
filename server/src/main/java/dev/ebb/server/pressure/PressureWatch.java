package dev.ebb.server.pressure;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Reserve;
import dev.ebb.kernel.Scope;
import dev.ebb.pressure.Admission;
import dev.ebb.pressure.Cost;
import dev.ebb.pressure.Gauges;
import dev.ebb.pressure.Meter;
import dev.ebb.pressure.Permit;
import dev.ebb.pressure.PressureLevel;
import dev.ebb.pressure.Reading;
import dev.ebb.pressure.Readings;
import dev.ebb.pressure.Refusal;
import dev.ebb.pressure.Resource;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the gauges about once a second, and whenever an admission needs to know; tells when a level
 * changes, and gives back what can be when one is alarming. Thread-safe; owns one thread.
 */
public final class PressureWatch implements Meter, Entrance, AutoCloseable {
  private static final Logger LOG = System.getLogger(PressureWatch.class.getName());
  private static final Duration ROUND = Duration.ofSeconds(1);

  /** A reading that is younger is as good as a new one. */
  private static final Duration FRESH = Duration.ofMillis(20);

  /** While a level stays alarming, it is cleaned up again so often. */
  private static final Duration CLEANUP_PAUSE = Duration.ofSeconds(10);

  /** Held back for what ends boxes, and for callers who want that. */
  private static final int RESERVED_DESCRIPTORS = 24;

  private static final Duration LAST_PATIENCE = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(5);

  /** Of what a box or a command is made: if these are short, it may fail for that. */
  private static final Set<Resource> MATERIAL =
      Set.of(Resource.PIDS, Resource.DESCRIPTORS, Resource.MEMORY);

  private final Gauges gauges;
  private final Reserve reserve;
  private final PressureSettings settings;
  private final Admission admission;
  private final OrderedLock lock = new OrderedLock(LockOrder.PRESSURE_READING);
  private final Condition alarm = lock.newCondition();

  /** What is to be told, in order; added under {@code lock}, told under {@code telling} alone. */
  private final Queue<Runnable> news = new ConcurrentLinkedQueue<>();

  private final OrderedLock telling = new OrderedLock(LockOrder.PRESSURE_NEWS);

  @GuardedBy("lock")
  private final Map<Cleanup.Stage, Cleanup> stages = new EnumMap<>(Cleanup.Stage.class);

  @GuardedBy("lock")
  private final Map<Resource, PressureLevel> told = new EnumMap<>(Resource.class);

  @GuardedBy("lock")
  private boolean isAlarming;

  @GuardedBy("lock")
  private boolean isCleaning;

  private volatile Readings latest;
  private volatile Teller teller = (kind, data) -> {};
  private volatile Clock clock = (took, isLetIn) -> {};
  private volatile @Nullable BaselineWatch baseline;
  private volatile @Nullable Cleaned lastCleanup;
  private volatile Instant alertAt = Instant.MIN;
  private long cleanedAt = System.nanoTime() - CLEANUP_PAUSE.toNanos(); // for the thread alone
  private final Thread thread;

  /** Whoever passes on what happens. */
  public interface Teller {
    void tell(String kind, Map<String, Object> data);
  }

  /** Whoever measures how long it takes to be let in, or refused. */
  public interface Clock {
    void took(Duration duration, boolean isLetIn);
  }

  /** From now on. */
  void time(Clock by) {
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

  /** One that reads when asked, until it is started. */
  public static PressureWatch open(Scope scope, Path home, PressureSettings settings)
      throws KernelException {
    Reserve reserve = Reserve.open(scope, RESERVED_DESCRIPTORS);
    var watch = new PressureWatch(new Gauges(home, settings.thresholds()), reserve, settings);
    scope.own(watch::close);
    return watch;
  }

  /** What it may give back in this stage, from now on. */
  public void register(Cleanup.Stage stage, Cleanup cleanup) {
    lock.lock();
    try {
      stages.put(stage, cleanup);
    } finally {
      lock.unlock();
    }
  }

  /** Watches from now on. */
  public void start(Teller to, BaselineWatch idle) {
    teller = to;
    baseline = idle;
    thread.start();
  }

  // --- for those who want to begin something ---

  @Override
  public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft)
      throws InterruptedException {
    Leak.leakIfTold();
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
          facts(e.reading(), e.reason().word()));
    }
  }

  private static Map<String, Object> facts(Reading reading, String reason) {
    var facts = describe(reading);
    facts.put("reason", reason);
    return facts;
  }

  @Override
  public SandboxException explain(SandboxException failure, Instant begun) {
    boolean maybeShort =
        switch (failure.code()) {
          case SETUP_FAILED, SETUP_TIMED_OUT, PRESSURE -> true;
          default -> false;
        };
    if (!maybeShort) {
      return failure;
    }
    Reading worst = fresh().worst();
    boolean isShort =
        alertAt.isAfter(begun)
            || (worst.level().isAtLeast(PressureLevel.ALERT)
                && MATERIAL.contains(worst.resource()));
    if (!isShort) {
      return failure;
    }
    var explained =
        SandboxException.later(
            ErrorCode.PRESSURE,
            failure.getMessage() + "; too little was left: " + worst,
            RETRY,
            facts(worst, Refusal.Reason.FULL.word()));
    explained.addSuppressed(failure);
    return explained;
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
      tellNews();
    }
  }

  /** Tells what there is to tell, unless another thread does so now. */
  private void tellNews() {
    // RACE: what is added while another thread tells is seen by that thread, or here.
    while (!news.isEmpty() && telling.tryLock()) {
      try {
        for (Runnable next = news.poll(); next != null; next = news.poll()) {
          next.run();
        }
      } finally {
        telling.unlock();
      }
    }
  }

  /** One at a time. */
  @GuardedBy("lock")
  private Readings read() {
    var mark = admission.beforeReading();
    Readings next;
    try {
      next = gauges.read();
    } catch (KernelException | RuntimeException e) {
      news.add(() -> LOG.log(Level.ERROR, "event=gauges_failed", e));
      return latest;
    }
    latest = next;
    admission.afterReading(mark);
    for (Reading reading : next.readings()) {
      tellChange(reading);
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

  /** What the JDK and Jetty open cannot spend it themselves. */
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
   * On the way up each level is told, on the way down the one it ends at.
   *
   * <p>ORDER: what a cleanup did is told before the level that it led to.
   */
  @GuardedBy("lock")
  private void tellChange(Reading now) {
    PressureLevel before = told.getOrDefault(now.resource(), PressureLevel.OK);
    if (isCleaning && now.level().compareTo(before) < 0) {
      return;
    }
    told.put(now.resource(), now.level());
    for (PressureLevel level : PressureLevel.values()) {
      if (level.compareTo(before) > 0 && level.compareTo(now.level()) <= 0) {
        news.add(() -> tell(now, level, before));
      }
    }
    if (now.level().compareTo(before) < 0) {
      news.add(() -> tell(now, now.level(), before));
    }
    if (now.level().isAtLeast(PressureLevel.ALERT) && !before.isAtLeast(PressureLevel.ALERT)) {
      isAlarming = true;
      isCleaning = true;
      alarm.signal();
    }
  }

  private void tell(Reading reading, PressureLevel level, PressureLevel before) {
    LOG.log(
        level.isAtLeast(before) ? Level.WARNING : Level.INFO,
        "event=pressure_{0} {1}",
        level.word(),
        reading);
    var data = describe(reading);
    data.put("level", level.word());
    data.put("before", before.word());
    teller.tell("pressure", data);
  }

  private static Map<String, Object> describe(Reading reading) {
    var data = new LinkedHashMap<String, Object>();
    data.put("resource", reading.resource().word());
    data.put("use", reading.use());
    if (reading.hasLimit()) {
      data.put("limit", reading.limit());
    }
    data.put("source", reading.source());
    data.put("percent", Math.round(reading.percent()));
    return data;
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

  /** Whatever goes wrong in one round, there is a next one. */
  private void watch(boolean isNew) throws InterruptedException {
    try {
      lookAtBaseline();
      boolean isDue = System.nanoTime() - cleanedAt >= CLEANUP_PAUSE.toNanos();
      // What was alarming for a moment only is reason enough to sweep.
      if (isNew || (isDue && fresh().level().isAtLeast(PressureLevel.ALERT))) {
        cleaning(true);
        try {
          clean();
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
      idle.look(readNow(), teller);
    }
  }

  /** True when a level has become alarming meanwhile. */
  private boolean awaitRound() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long nanos = ROUND.toNanos();
      while (!isAlarming && nanos > 0) {
        nanos = alarm.awaitNanos(nanos);
      }
      boolean was = isAlarming;
      isAlarming = false;
      return was;
    } finally {
      lock.unlock();
    }
  }

  private void cleaning(boolean is) {
    lock.lock();
    try {
      isCleaning = is;
      isAlarming = false;
      for (Reading reading : latest.readings()) {
        tellChange(reading);
      }
    } finally {
      lock.unlock();
      tellNews();
    }
  }

  private void clean() throws InterruptedException {
    Instant at = Instant.now();
    long begun = System.nanoTime();
    Reading before = fresh().worst();
    var steps = new ArrayList<Cleaned.Step>();
    for (var each : inOrder().entrySet()) {
      int released = clean(each.getKey(), each.getValue());
      Readings after = readNow();
      steps.add(new Cleaned.Step(each.getKey(), released, after.of(before.resource()).use()));
      if (isEnough(after)) {
        break;
      }
    }
    var took = Duration.ofNanos(System.nanoTime() - begun);
    var done = new Cleaned(at, took, before, latest.of(before.resource()), steps);
    lastCleanup = done;
    news.add(() -> tell(done));
    tellNews();
  }

  private Map<Cleanup.Stage, Cleanup> inOrder() {
    lock.lock();
    try {
      return new EnumMap<>(stages);
    } finally {
      lock.unlock();
    }
  }

  private int clean(Cleanup.Stage stage, Cleanup cleanup) throws InterruptedException {
    try {
      return cleanup.clean(() -> isEnough(readNow()));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=cleanup_failed stage=" + stage.word(), e);
      return 0;
    }
  }

  private static boolean isEnough(Readings readings) {
    return !readings.level().isAtLeast(PressureLevel.ALERT);
  }

  private Readings readNow() {
    lock.lock();
    try {
      return read();
    } finally {
      lock.unlock();
      tellNews();
    }
  }

  private void tell(Cleaned done) {
    var stagesDone =
        done.stages().stream()
            .map(
                step ->
                    Map.<String, Object>of(
                        "stage", step.stage().word(),
                        "released", step.released(),
                        "use", step.use()))
            .toList();
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
    data.put("stages", stagesDone);
    data.put("durationMillis", done.took().toMillis());
    teller.tell("pressure", data);
  }

  public Optional<Cleaned> lastCleanup() {
    return Optional.ofNullable(lastCleanup);
  }

  public PressureSettings settings() {
    return settings;
  }

  /** What it is at, it finishes, if that does not take long. */
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
