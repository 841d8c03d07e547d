package dev.ebb.pool;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.Box;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.SandboxException;
import dev.ebb.exec.ExecSpec;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.PidLimit;
import dev.ebb.process.ProcFs;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Boxes that were made ahead. Each is handed out once, checked, and never comes back.
 *
 * <p>Thread-safe. One virtual thread makes and destroys what waits, one box at a time.
 */
public final class WarmPool implements AutoCloseable {
  private static final Logger LOG = System.getLogger(WarmPool.class.getName());
  private static final long ROUND_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long whoever finds none waits for the one that is being made. */
  private static final long MAKING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How long a pool that has some left waits for those who make boxes for a caller. */
  private static final long BUSY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** The same for whoever asked last. */
  private static final long ASKED_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** The same for what else runs on this host, when that is more than this. */
  private static final long CROWDED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int CROWD = 2 * Runtime.getRuntime().availableProcessors();

  private static final long WAY_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Duration FAILED = Duration.ofSeconds(1);
  private static final Duration FAILED_OFTEN = Duration.ofMinutes(1);

  /** Who makes boxes, and ends them. */
  public interface Maker {
    Box make(BoxSpec spec);

    /** Ends it; what will not end at once is the maker's to try again. */
    void discard(Box box);

    /** Somebody waits for a box that is being made. */
    boolean isBusy();
  }

  private final Maker maker;
  private final PoolPolicy policy;
  private final BiConsumer<Box, Fate> listener;
  private final BoxSpec spec = BoxSpec.defaults();
  private final List<Shelf> shelves = new ArrayList<>();
  private final Thread keeper;

  private final ReentrantLock lock = new ReentrantLock();

  /** For the keeper. */
  private final Condition work = lock.newCondition();

  /** For those who wait for one that is being made. */
  private final Condition made = lock.newCondition();

  /** Something for the keeper has come. */
  @GuardedBy("lock")
  private boolean isNews;

  /** Taken off their shelves, and not destroyed yet. */
  private final Queue<PoolItem> doomed = new ConcurrentLinkedQueue<>();

  private final Map<Fate, Long> destroyed = new ConcurrentHashMap<>();
  private final AtomicLong unfit = new AtomicLong();

  /** The most that may wait in all. */
  private volatile int most;

  private volatile boolean closed;

  private volatile long askedAt = System.nanoTime();

  /** Of the keeper, as what follows: since when there has been no quiet moment. */
  private long crowdedSince = System.nanoTime();

  /** After one that could not be made. */
  private Duration backoff = FAILED;

  private volatile long tryAt = System.nanoTime();

  /**
   * Begins to fill.
   *
   * @param listener hears of each box that somebody did something to
   */
  public WarmPool(Maker maker, PoolPolicy policy, BiConsumer<Box, Fate> listener) {
    this.maker = maker;
    this.policy = policy;
    this.listener = listener;
    if (policy.max() > 0) {
      shelves.add(new Shelf(Optional.empty(), policy.min(), policy.max()));
    }
    policy.interpreters().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(each -> shelves.add(new Shelf(Optional.of(each.getKey()), 1, each.getValue())));
    most = atMost();
    keeper = Thread.ofVirtual().name("ebb-pool").unstarted(this::keep);
    if (!policy.isOff()) {
      keeper.start();
    }
  }

  private static int atMost() {
    try {
      return PoolPolicy.most(PidLimit.tightest());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  // --- handing out ---

  /**
   * A box that was made ahead and is what is wanted, or nothing.
   *
   * @param command what is to run in it at once; empty: not known, or more comes first
   */
  public Optional<PoolItem> take(BoxSpec wanted, Optional<ExecSpec> command)
      throws InterruptedException {
    if (!spec.canBecome(wanted)) {
      unfit.incrementAndGet();
      return Optional.empty();
    }
    boolean preloads = !policy.preload().isEmpty();
    Optional<Interpreter> called = command.flatMap(each -> Interpreter.of(each, preloads));
    Optional<PoolItem> warm = called.isEmpty() ? Optional.empty() : takeOf(called, wanted, command);
    return warm.isPresent() ? warm : takeOf(Optional.empty(), wanted, Optional.empty());
  }

  private Optional<PoolItem> takeOf(
      Optional<Interpreter> kind, BoxSpec wanted, Optional<ExecSpec> command)
      throws InterruptedException {
    Optional<Shelf> shelf =
        shelves.stream().filter(each -> each.interpreter().equals(kind)).findFirst();
    return shelf.isEmpty() ? Optional.empty() : takeFrom(shelf.get(), wanted, command);
  }

  private Optional<PoolItem> takeFrom(Shelf shelf, BoxSpec wanted, Optional<ExecSpec> command)
      throws InterruptedException {
    locked(shelf::ask);
    askedAt = System.nanoTime();
    for (PoolItem item = next(shelf); item != null; item = next(shelf)) {
      Optional<Fate> flaw = prepare(item, wanted, command);
      if (flaw.isEmpty()) {
        locked(() -> shelf.count(true));
        return Optional.of(item);
      }
      doom(item, flaw.get());
    }
    locked(() -> shelf.count(false));
    return Optional.empty();
  }

  private Optional<Fate> prepare(PoolItem item, BoxSpec wanted, Optional<ExecSpec> command)
      throws InterruptedException {
    try {
      return item.age().compareTo(policy.age()) > 0
          ? Optional.of(Fate.AGED)
          : item.prepare(wanted, command);
    } catch (InterruptedException | RuntimeException e) {
      doom(item, Fate.UNFIT);
      throw e;
    }
  }

  /** The oldest, or the one that is being made, for which nobody else waits. */
  private @Nullable PoolItem next(Shelf shelf) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (shelf.size() == 0 && shelf.canAwait()) {
        await(shelf);
      }
      isNews = true;
      work.signal();
      return closed ? null : shelf.poll();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void await(Shelf shelf) throws InterruptedException {
    shelf.await(true);
    try {
      long left = MAKING_NANOS;
      while (shelf.isMaking() && shelf.size() == 0 && left > 0) {
        left = made.awaitNanos(left);
      }
    } finally {
      shelf.await(false);
    }
  }

  private void locked(Runnable change) {
    lock.lock();
    try {
      change.run();
    } finally {
      lock.unlock();
    }
  }

  // --- destroying ---

  /** Of one that was handed out, and that nobody will use after all. */
  public void refuse(PoolItem item) {
    doom(item, Fate.SURPLUS);
  }

  /** It is nobody's any more, and will be destroyed; aside, for somebody may wait. */
  private void doom(PoolItem item, Fate fate) {
    condemn(item, fate);
    wake();
    if (fate.isPoisoned()) {
      LOG.log(
          Level.WARNING, "event=pool_poisoned box={0} reason={1}", item.box().id(), fate.word());
      listener.accept(item.box(), fate);
    }
  }

  private void condemn(PoolItem item, Fate fate) {
    doomed.add(item);
    destroyed.merge(fate, 1L, Long::sum);
  }

  private void wake() {
    lock.lock();
    try {
      isNews = true;
      work.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets no more than {@code keep} boxes wait from now on, and destroys those beyond; the largest
   * number is no bound.
   *
   * @return how many were destroyed
   */
  public int shrink(int keep) {
    most = Math.min(keep, atMost());
    int dropped = drop(Fate.SURPLUS, most);
    destroyDoomed();
    wake();
    return dropped;
  }

  /** Destroys all that wait, and makes none for a while: others need the room. */
  public int makeWay() {
    tryAt = System.nanoTime() + WAY_NANOS;
    int dropped = drop(Fate.SURPLUS, 0);
    destroyDoomed();
    return dropped;
  }

  /** Condemns all but {@code keep}, those with an interpreter first. */
  private int drop(Fate fate, int keep) {
    int dropped = 0;
    lock.lock();
    try {
      for (Shelf shelf : shelves.reversed()) {
        while (size() > keep && shelf.size() > 0) {
          condemn(requireNonNull(shelf.poll()), fate);
          dropped++;
        }
      }
    } finally {
      lock.unlock();
    }
    return dropped;
  }

  @GuardedBy("lock")
  private int size() {
    return shelves.stream().mapToInt(Shelf::size).sum();
  }

  /** Destroys what waits; nothing is handed out or made any more. */
  @Override
  public void close() {
    closed = true;
    locked(made::signalAll);
    keeper.interrupt();
    boolean interrupted = false;
    while (keeper.isAlive()) {
      try {
        keeper.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    drop(Fate.CLOSED, 0);
    destroyDoomed();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void destroyDoomed() {
    for (PoolItem item = doomed.poll(); item != null; item = doomed.poll()) {
      maker.discard(item.box());
    }
  }

  // --- making ---

  private void keep() {
    try {
      while (!closed) {
        discardFlawed();
        destroyDoomed();
        Optional<Shelf> next = awaitWork();
        if (next.isPresent()) {
          make(next.get());
        }
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=pool_ends");
    }
  }

  private void discardFlawed() {
    var dead = new ArrayList<PoolItem>();
    lock.lock();
    try {
      for (Shelf shelf : shelves) {
        dead.addAll(shelf.removeDead());
        for (var flaw = shelf.flaw(policy.age());
            flaw.isPresent();
            flaw = shelf.flaw(policy.age())) {
          condemn(requireNonNull(shelf.poll()), flaw.get());
        }
      }
    } finally {
      lock.unlock();
    }
    dead.forEach(item -> doom(item, Fate.DEAD));
  }

  /** What to make, when nobody is in the way; nothing when it is time to look around. */
  private Optional<Shelf> awaitWork() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      Optional<Shelf> next = emptiest();
      long now = System.nanoTime();
      if (next.isPresent() && now - tryAt >= 0 && !isInTheWay(next.get(), now)) {
        next.get().begin();
        return next;
      }
      long left = next.isEmpty() ? ROUND_NANOS : Math.clamp(tryAt - now, BUSY_NANOS, ROUND_NANOS);
      while (!isNews && left > 0) {
        left = work.awaitNanos(left);
      }
      isNews = false;
      return Optional.empty();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Optional<Shelf> emptiest() {
    return size() >= most
        ? Optional.empty()
        : shelves.stream()
            .filter(shelf -> shelf.missing() > 0)
            .min(Comparator.comparingInt(Shelf::size));
  }

  /** Callers go first; while some are left here, so does whatever else the host has to do. */
  private boolean isInTheWay(Shelf shelf, long now) {
    boolean isUrgent = shelf.size() == 0;
    // Whoever has just been given one wants the processors.
    if (maker.isBusy() || (!isUrgent && now - askedAt < ASKED_NANOS)) {
      return true;
    }
    if (isUrgent || ProcFs.runnable() <= CROWD) {
      crowdedSince = now;
    }
    return now - crowdedSince > 0 && now - crowdedSince < CROWDED_NANOS;
  }

  private void make(Shelf shelf) throws InterruptedException {
    long begin = System.nanoTime();
    PoolItem item = null;
    try {
      item = make(shelf.interpreter());
      backoff = FAILED;
    } catch (KernelException | RuntimeException e) {
      if (closed) {
        throw new InterruptedException();
      }
      LOG.log(Level.WARNING, "event=pool_not_filled again_in=" + backoff, e);
      tryAt = System.nanoTime() + backoff.toNanos();
      backoff =
          backoff.multipliedBy(2).compareTo(FAILED_OFTEN) < 0
              ? backoff.multipliedBy(2)
              : FAILED_OFTEN;
    } finally {
      PoolItem ready = item;
      Duration took = Duration.ofNanos(System.nanoTime() - begin);
      locked(
          () -> {
            shelf.end(ready, took);
            made.signalAll();
          });
    }
  }

  private PoolItem make(Optional<Interpreter> interpreter)
      throws KernelException, InterruptedException {
    Box box = maker.make(spec);
    try {
      return interpreter.isPresent()
          ? PoolItem.with(box, interpreter.get(), policy.preload())
          : PoolItem.plain(box);
    } catch (KernelException | InterruptedException | RuntimeException e) {
      maker.discard(box);
      throw e;
    }
  }

  // --- telling ---

  public PoolState state() {
    lock.lock();
    try {
      return new PoolState(
          shelves.stream().map(Shelf::state).toList(), most, unfit.get(), destroyed);
    } finally {
      lock.unlock();
    }
  }
}
