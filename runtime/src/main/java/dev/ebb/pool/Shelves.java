package dev.ebb.pool;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Fate;
import dev.ebb.model.PoolState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The waiting boxes of a pool, by kind, under one lock; plain boxes first. Thread-safe. */
final class Shelves {
  /** How long a caller waits for a box that is being made. */
  private static final Duration MAKING = Duration.ofMillis(500);

  /** The memory of a box in which only init runs. */
  private static final ByteSize PLAIN = ByteSize.mebibytes(1);

  private final List<Shelf> shelves;
  private final OrderedLock lock = new OrderedLock(LockOrder.POOL_SHELVES);

  /** Signals the thread that fills the shelves. */
  private final Condition work = lock.newCondition();

  /** Signals the callers that wait for a box that is being made. */
  private final Condition made = lock.newCondition();

  /** Whether there is news for the thread that fills the shelves. */
  @GuardedBy("lock")
  private boolean isNews;

  @GuardedBy("lock")
  private boolean closed;

  Shelves(PoolPolicy policy) {
    var kinds = new ArrayList<Shelf>();
    Optional<Duration> idle = policy.adaptation().map(PoolPolicy.Adaptation::idle);
    if (policy.max() > 0) {
      kinds.add(new Shelf(Optional.empty(), policy.min(), policy.max(), PLAIN, idle));
    }
    policy.interpreters().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .map(each -> shelf(each.getKey(), each.getValue(), idle))
        .forEach(kinds::add);
    shelves = List.copyOf(kinds);
  }

  private static Shelf shelf(Interpreter interpreter, int max, Optional<Duration> idle) {
    return new Shelf(Optional.of(interpreter), 1, max, interpreter.weight(), idle);
  }

  /** Returns the shelf for boxes with this interpreter, or for plain ones. */
  Optional<Shelf> of(Optional<Interpreter> interpreter) {
    return shelves.stream().filter(each -> each.interpreter().equals(interpreter)).findFirst();
  }

  // --- for callers ---

  void ask(Shelf shelf) {
    locked(shelf::ask);
  }

  void count(Shelf shelf, boolean isHit) {
    locked(() -> shelf.count(isHit));
  }

  private void locked(Runnable change) {
    lock.lock();
    try {
      change.run();
    } finally {
      lock.unlock();
    }
  }

  /** Takes the oldest box, or waits for one that is being made and has no other caller. */
  @Nullable PoolItem next(Shelf shelf) throws InterruptedException {
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
      Deadline deadline = Deadline.in(MAKING);
      while (!closed && shelf.isMaking() && shelf.size() == 0 && !deadline.isOver()) {
        var _ = made.awaitNanos(deadline.remainingNanos());
      }
    } finally {
      shelf.await(false);
    }
  }

  // --- for the thread that destroys boxes ---

  /** A box that was removed from its shelf, and why. */
  record Removed(PoolItem item, Fate fate) {}

  /** Removes all boxes but {@code keep}, those with an interpreter first. */
  List<PoolItem> takeBeyond(int keep) {
    var taken = new ArrayList<PoolItem>();
    lock.lock();
    try {
      for (Shelf shelf : shelves.reversed()) {
        while (size() > keep && shelf.size() > 0) {
          taken.add(requireNonNull(shelf.poll()));
        }
      }
    } finally {
      lock.unlock();
    }
    return taken;
  }

  /** Removes boxes that have died, are older than {@code age}, or are one too many. */
  List<Removed> takeFlawed(Duration age) {
    var taken = new ArrayList<Removed>();
    lock.lock();
    try {
      for (Shelf shelf : shelves) {
        shelf.removeDead().forEach(item -> taken.add(new Removed(item, Fate.DEAD)));
        for (var flaw = shelf.flaw(age); flaw.isPresent(); flaw = shelf.flaw(age)) {
          taken.add(new Removed(requireNonNull(shelf.poll()), flaw.get()));
        }
      }
    } finally {
      lock.unlock();
    }
    return taken;
  }

  /** Hands out nothing from now on. */
  void close() {
    lock.lock();
    try {
      closed = true;
      made.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  // --- for the thread that fills the shelves ---

  @GuardedBy("lock")
  private int size() {
    return shelves.stream().mapToInt(Shelf::size).sum();
  }

  /** Begins a box for the emptiest shelf, if there is room for one. */
  Optional<Shelf> begin(PoolRoom room, Predicate<Shelf> isAllowed) {
    lock.lock();
    try {
      Optional<Shelf> next = emptiest(room).filter(isAllowed);
      next.ifPresent(Shelf::begin);
      return next;
    } finally {
      lock.unlock();
    }
  }

  boolean isMissing(PoolRoom room) {
    lock.lock();
    try {
      return emptiest(room).isPresent();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Optional<Shelf> emptiest(PoolRoom room) {
    long free = room.memory().bytes() - shelves.stream().mapToLong(Shelf::weight).sum();
    return size() >= room.boxes()
        ? Optional.empty()
        : shelves.stream()
            .filter(shelf -> shelf.missing() > 0 && shelf.canTry())
            .filter(shelf -> shelf.weightOfOne().bytes() <= free)
            .min(Comparator.comparingInt(Shelf::size));
  }

  /** Returns whether boxes of this kind are kept, or would be if there were room. */
  boolean isAwake(Interpreter interpreter) {
    Optional<Shelf> shelf = of(Optional.of(interpreter));
    lock.lock();
    try {
      return shelf.isPresent() && !shelf.get().isAsleep();
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether no box waits, and none is to. */
  boolean areAsleep() {
    lock.lock();
    try {
      return shelves.stream().allMatch(each -> each.isAsleep() && each.size() == 0);
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether boxes with an interpreter wait. */
  boolean hasInterpreters() {
    lock.lock();
    try {
      return shelves.stream().anyMatch(each -> each.interpreter().isPresent() && each.size() > 0);
    } finally {
      lock.unlock();
    }
  }

  /** Removes all boxes with this interpreter. */
  List<PoolItem> takeAll(Interpreter interpreter) {
    var taken = new ArrayList<PoolItem>();
    Optional<Shelf> shelf = of(Optional.of(interpreter));
    lock.lock();
    try {
      while (shelf.isPresent() && shelf.get().size() > 0) {
        taken.add(requireNonNull(shelf.get().poll()));
      }
    } finally {
      lock.unlock();
    }
    return taken;
  }

  /**
   * Ends a box that was begun: it is made, or will never be.
   *
   * @param isWanted RACE: asked while no thread can empty the shelf, so one that did so before is
   *     seen
   * @return false: the box is no longer wanted, and belongs to the caller
   */
  boolean end(Shelf shelf, @Nullable PoolItem item, Duration took, BooleanSupplier isWanted) {
    lock.lock();
    try {
      boolean isTaken = item == null || isWanted.getAsBoolean();
      shelf.end(isTaken ? item : null, took);
      made.signalAll();
      return isTaken;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until there is news, for at most {@code nanos}. */
  void awaitNews(long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      for (long left = nanos; !isNews && left > 0; ) {
        left = work.awaitNanos(left);
      }
      isNews = false;
    } finally {
      lock.unlock();
    }
  }

  void wake() {
    lock.lock();
    try {
      isNews = true;
      work.signal();
    } finally {
      lock.unlock();
    }
  }

  List<PoolState.Kind> state() {
    lock.lock();
    try {
      return shelves.stream().map(Shelf::state).toList();
    } finally {
      lock.unlock();
    }
  }
}
