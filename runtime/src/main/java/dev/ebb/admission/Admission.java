package dev.ebb.admission;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Admits work as long as there is room for it.
 *
 * <p>Admitted work that no gauge has seen yet counts as used, so that simultaneous requests do not
 * overshoot between two readings. At {@link PressureLevel#ALERT} requests are admitted one at a
 * time, from a bounded queue that takes tenants in turn; a request that would reach {@link
 * PressureLevel#FULL} is refused. Running work, and requests that end something, never come here.
 * Thread-safe; owns no thread. The meter is never called under the lock: it calls {@link
 * #beforeReading} and {@link #afterReading} under its own.
 */
public final class Admission {
  private static final Duration RETRY_SOON = Duration.ofSeconds(1);
  private static final Duration RETRY_FULL = Duration.ofSeconds(5);

  /**
   * How often a waiting request looks again: resources may be freed unseen, or its caller may
   * leave.
   */
  private static final Duration LOOK = Duration.ofMillis(50);

  private final Meter meter;
  private final Thresholds thresholds;
  private final Duration patience;
  private final OrderedLock lock = new OrderedLock(LockOrder.ADMISSION);

  @GuardedBy("lock")
  private final FairQueue queue;

  /** The cost of what is being made. */
  @GuardedBy("lock")
  private Cost making = Cost.NOTHING;

  /** The cost of what was made since the latest reading began. */
  @GuardedBy("lock")
  private Cost unseen = Cost.NOTHING;

  @GuardedBy("lock")
  private int makers;

  @GuardedBy("lock")
  private final Map<Refusal.Reason, Long> refusals = new EnumMap<>(Refusal.Reason.class);

  /**
   * Makes an admission.
   *
   * @param most how many requests may wait
   * @param patience how long each of them may wait
   */
  public Admission(Meter meter, Thresholds thresholds, int most, Duration patience) {
    this.meter = meter;
    this.thresholds = thresholds;
    this.patience = patience;
    queue = new FairQueue(most);
  }

  private final class Taken implements Permit {
    private final Cost cost;

    @GuardedBy("lock")
    private boolean closed;

    private Taken(Cost cost) {
      this.cost = cost;
    }

    @Override
    public void close() {
      lock.lock();
      try {
        if (!closed) {
          closed = true;
          makers--;
          making = making.minus(cost);
          unseen = unseen.plus(cost);
          wakeNext();
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** A request that waits for its turn. */
  static final class Waiter {
    final String tenant;
    final Condition turn;
    @Nullable Refusal refused;

    Waiter(String tenant, Condition turn) {
      this.tenant = tenant;
      this.turn = turn;
    }
  }

  /** Admits a caller that never leaves. */
  Permit admit(String tenant, Cost cost) throws Refusal, InterruptedException {
    return admit(tenant, cost, () -> false);
  }

  /**
   * Waits for room if there is little, and takes it. An interrupted call takes nothing.
   *
   * @param tenant whose requests take turns with those of other tenants, however many there are
   * @param hasLeft whether the caller has left; asked now and then while the request waits
   */
  public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft)
      throws Refusal, InterruptedException {
    // ORDER: the meter has locks of its own, which rank before this one.
    Readings known = meter.latest();
    lock.lockInterruptibly();
    try {
      if (queue.isEmpty() && verdict(cost, known) == Verdict.AT_ONCE) {
        return take(cost);
      }
    } finally {
      lock.unlock();
    }
    return admitWithCare(tenant, cost, hasLeft);
  }

  private enum Verdict {
    AT_ONCE,
    IN_TURN,
    NOT_NOW
  }

  private Permit admitWithCare(String tenant, Cost cost, BooleanSupplier hasLeft)
      throws Refusal, InterruptedException {
    Readings readings = meter.fresh();
    lock.lockInterruptibly();
    try {
      Verdict verdict = verdict(cost, readings);
      if (queue.isEmpty() && (verdict == Verdict.AT_ONCE || isNext(verdict))) {
        return take(cost);
      }
      if (verdict == Verdict.NOT_NOW && isFull(readings)) {
        throw refuse(Refusal.Reason.FULL, readings);
      }
    } finally {
      lock.unlock();
    }
    return await(tenant, cost, hasLeft);
  }

  /** Returns whether one more may begin: at the alert level one at a time. */
  @GuardedBy("lock")
  private boolean isNext(Verdict verdict) {
    return verdict == Verdict.IN_TURN && makers == 0;
  }

  private static boolean isFull(Readings readings) {
    return readings.level() == PressureLevel.FULL;
  }

  private Permit await(String tenant, Cost cost, BooleanSupplier hasLeft)
      throws Refusal, InterruptedException {
    Deadline end = Deadline.in(patience);
    Waiter waiter = enter(tenant);
    try {
      while (true) {
        boolean isGone = hasLeft.getAsBoolean();
        Readings readings = meter.fresh();
        lock.lockInterruptibly();
        try {
          if (isGone) {
            throw refuse(Refusal.Reason.LEFT, readings);
          }
          long left = end.remainingNanos();
          Permit permit = tryTurn(waiter, cost, readings, left);
          if (permit != null) {
            return permit;
          }
          var _ = waiter.turn.await(Math.min(left, LOOK.toNanos()), TimeUnit.NANOSECONDS);
        } finally {
          lock.unlock();
        }
      }
    } finally {
      leave(waiter);
    }
  }

  @GuardedBy("lock")
  private boolean isFirst(Waiter waiter) {
    return queue.first() == waiter;
  }

  private Waiter enter(String tenant) throws Refusal {
    Readings known = meter.latest();
    lock.lock();
    try {
      var waiter = new Waiter(tenant, lock.newCondition());
      Waiter refused = queue.add(waiter);
      if (refused != null) {
        Refusal refusal = refuse(Refusal.Reason.QUEUE_FULL, known);
        if (refused == waiter) {
          throw refusal;
        }
        refused.refused = refusal;
        refused.turn.signal();
      }
      return waiter;
    } finally {
      lock.unlock();
    }
  }

  /** Returns null if the request has to wait on. */
  @GuardedBy("lock")
  private @Nullable Permit tryTurn(Waiter waiter, Cost cost, Readings readings, long left)
      throws Refusal {
    if (waiter.refused != null) {
      throw waiter.refused;
    }
    Verdict verdict = verdict(cost, readings);
    if (isFirst(waiter) && (verdict == Verdict.AT_ONCE || isNext(verdict))) {
      queue.next();
      return take(cost);
    }
    if (left <= 0) {
      throw refuse(Refusal.Reason.DEADLINE, readings);
    }
    return null;
  }

  private void leave(Waiter waiter) {
    lock.lock();
    try {
      queue.remove(waiter);
      wakeNext();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void wakeNext() {
    Waiter next = queue.first();
    if (next != null) {
      next.turn.signal();
    }
  }

  @GuardedBy("lock")
  private Permit take(Cost cost) {
    makers++;
    making = making.plus(cost);
    return new Taken(cost);
  }

  @GuardedBy("lock")
  private Verdict verdict(Cost cost, Readings readings) {
    Cost wanted = making.plus(unseen).plus(cost);
    Verdict verdict = Verdict.AT_ONCE;
    for (Reading reading : readings.readings()) {
      long more = wanted.of(reading.resource());
      double percent =
          reading.hasLimit() ? 100.0 * (reading.use() + more) / Math.max(1, reading.limit()) : 0;
      if (reading.level() == PressureLevel.FULL || (more > 0 && percent >= thresholds.full())) {
        return Verdict.NOT_NOW;
      }
      if (reading.level() == PressureLevel.ALERT || (more > 0 && percent >= thresholds.alert())) {
        verdict = Verdict.IN_TURN;
      }
    }
    return verdict;
  }

  @GuardedBy("lock")
  private Refusal refuse(Refusal.Reason reason, Readings readings) {
    refusals.merge(reason, 1L, Long::sum);
    return new Refusal(
        reason, readings.worst(), reason == Refusal.Reason.FULL ? RETRY_FULL : RETRY_SOON);
  }

  // --- readings ---

  /** The total cost of what was made when a reading began. */
  public record Mark(Cost seen) {}

  /** Called before a reading begins. */
  public Mark beforeReading() {
    lock.lock();
    try {
      return new Mark(unseen);
    } finally {
      lock.unlock();
    }
  }

  /** Called when that reading is the latest: it has seen what was made before it. */
  public void afterReading(Mark mark) {
    lock.lock();
    try {
      unseen = unseen.minus(mark.seen);
      wakeNext();
    } finally {
      lock.unlock();
    }
  }

  // --- state ---

  /**
   * The waiting requests, and what is reserved.
   *
   * @param refusals since the start, by reason
   */
  public record State(int waiting, int making, Cost reserved, Map<Refusal.Reason, Long> refusals) {
    public State {
      refusals = Map.copyOf(refusals);
    }
  }

  public State state() {
    lock.lock();
    try {
      return new State(queue.size(), makers, making.plus(unseen), refusals);
    } finally {
      lock.unlock();
    }
  }
}
