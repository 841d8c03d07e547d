package dev.ebb.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Self;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The progress of a command as init reported it, and waits for it. A wait leaves the end to init
 * until a deadline; then {@link Backstop} ends the command. Thread-safe.
 */
final class ExecProgress {
  static final Duration FOREVER = Duration.ofDays(36_500);
  private static final long LONG_NANOS = Duration.ofDays(365).toNanos();

  /** Ends a command without init. */
  interface Backstop {
    /** Reads everything that init has sent until now; returns false if that takes too long. */
    boolean catchUp() throws InterruptedException;

    void kill();

    /** Called when init does not answer after the kill. */
    void giveUp();
  }

  private final Backstop backstop;
  private final Duration slack;
  private final long startNanos;
  private final OrderedLock lock = new OrderedLock(LockOrder.EXEC);
  private final Condition changed = lock.newCondition();

  /** A separate condition, so that progress wakes no thread that waits for the end. */
  private final Condition over = lock.newCondition();

  private volatile OptionalInt started = OptionalInt.empty();
  private volatile int subreaper;
  private volatile @Nullable Outcome outcome;
  private volatile long endNanos;
  private volatile boolean isToBeKilled;
  private volatile boolean isOverrun;
  private volatile boolean ranOutOfMemory;

  /** How long a waiting thread leaves the end to init. */
  @GuardedBy("lock")
  private Deadline patience;

  /**
   * @param most the time that init gives the command; empty for any
   * @param slack how long init may be late
   * @param ago how long ago the command was started
   */
  ExecProgress(Backstop backstop, Optional<Duration> most, Duration slack, Duration ago) {
    this.backstop = backstop;
    this.slack = slack;
    startNanos = System.nanoTime() - ago.toNanos();
    patience = Deadline.in(most.map(time -> time.plus(slack).minus(ago)).orElse(FOREVER));
  }

  OrderedLock lock() {
    return lock;
  }

  Condition changed() {
    return changed;
  }

  // --- reports ---

  /**
   * Called when the command runs.
   *
   * @param pid in the box
   * @param adopter the pid of its subreaper in the box, where there are no cgroups
   */
  void onStarted(int pid, int adopter) {
    lock.lock();
    try {
      subreaper = adopter;
      started = OptionalInt.of(pid);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Takes over the progress of {@code other}. */
  void takeOver(ExecProgress other) {
    subreaper = other.subreaper;
    started = other.started;
  }

  /** Called with an end. The first one counts; the output may grow with a later one. */
  void onEnd(Outcome last, Segment output, long stdoutSize, long stderrSize) {
    lock.lock();
    try {
      if (outcome == null) {
        endNanos = endNanos(last);
        outcome = last;
      }
      output.end(stdoutSize, stderrSize, last.isTruncated(), last.loss());
      changed.signalAll();
      over.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Takes over an end that was reported to an earlier engine. */
  void endedBefore() {
    outcome = new Outcome.Lost();
  }

  /**
   * Returns the time of the end by init, which may be long ago; SAFETY: never before the start or
   * in the future.
   */
  private long endNanos(Outcome last) {
    long now = System.nanoTime();
    if (!(last instanceof Outcome.Ended(var ended, _))) {
      return now;
    }
    long ago = Self.sinceMonotonic(ended.at());
    return now - Math.clamp(ago, 0, Math.max(0, now - startNanos));
  }

  // --- state ---

  /** Returns the pid of the command in the box. */
  OptionalInt started() {
    return started;
  }

  int subreaper() {
    return subreaper;
  }

  boolean isOver() {
    return outcome != null;
  }

  Optional<Outcome> outcome() {
    return Optional.ofNullable(outcome);
  }

  /** Returns whether its end was requested. */
  boolean isToBeKilled() {
    return isToBeKilled;
  }

  /** Returns whether the engine ended it without init. */
  boolean isOverrun() {
    return isOverrun;
  }

  void overrun() {
    isOverrun = true;
  }

  void runOutOfMemory() {
    ranOutOfMemory = true;
  }

  boolean ranOutOfMemory() {
    return ranOutOfMemory;
  }

  Duration wall() {
    return Duration.ofNanos(endNanos - startNanos);
  }

  // --- waiting ---

  /** Waits until init has reported the start or the end; {@code ask} asks init for it. */
  boolean awaitStart(Duration most, Runnable ask) throws InterruptedException {
    BooleanSupplier isKnown = () -> started.isPresent() || outcome != null;
    if (!isKnown.getAsBoolean()) {
      ask.run();
    }
    await(changed, isKnown, Deadline.in(most));
    return isKnown.getAsBoolean() || (backstop.catchUp() && isKnown.getAsBoolean());
  }

  Optional<Outcome> awaitEnd(Duration most) throws InterruptedException {
    await(over, () -> outcome != null, Deadline.in(most));
    return outcome();
  }

  /** Waits, and checks {@code condition} after each report. */
  void awaitChange(BooleanSupplier condition, Duration most) throws InterruptedException {
    await(changed, condition, Deadline.in(most));
  }

  /** Waits until {@code condition} holds or the deadline; ends the command if init fails to. */
  private void await(Condition news, BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!condition.getAsBoolean() && !deadline.isOver()) {
        long nanos = Math.min(deadline.remainingNanos(), patience.remainingNanos());
        if (patience.isOver()) {
          endWithoutInit();
        } else if (nanos > LONG_NANOS) {
          // No timer here: each wait would have to set and clear it.
          news.await();
        } else {
          var _ = news.awaitNanos(nanos);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Init enforces the deadlines, but it shares the processors of the box and may be starved there.
   *
   * <p>ORDER: messages of init are read first. They may wait in the socket after a time in which
   * the engine did not run.
   */
  @GuardedBy("lock")
  private void endWithoutInit() throws InterruptedException {
    patience = Deadline.in(slack);
    boolean isCaughtUp;
    lock.unlock();
    try {
      isCaughtUp = backstop.catchUp();
    } finally {
      lock.lock();
    }
    if (outcome != null) {
      return;
    }
    if (isOverrun) {
      if (isCaughtUp) {
        backstop.giveUp();
      }
      return;
    }
    isOverrun = true;
    lock.unlock();
    try {
      backstop.kill();
    } finally {
      lock.lock();
    }
  }

  /** Notes that its end was requested; it must come within {@code grace} and the slack. */
  void hurry(Duration grace) {
    lock.lock();
    try {
      isToBeKilled = true;
      patience = patience.sooner(grace.plus(slack));
      changed.signalAll();
      over.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
