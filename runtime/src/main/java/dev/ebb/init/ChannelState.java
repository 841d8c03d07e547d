package dev.ebb.init;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Poller;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;

/**
 * The lock of one channel, and the wait for the next message of init.
 *
 * <p>{@link Greeting} and {@link InitQueries} keep what they know under this lock. Thread-safe.
 */
final class ChannelState {
  private static final Duration HEAR_BOUND = Duration.ofSeconds(5);

  private final Poller poller;
  private final OrderedLock lock = new OrderedLock(LockOrder.INIT_STATE);
  private final Condition changed = lock.newCondition();

  @GuardedBy("lock")
  private boolean closed;

  @GuardedBy("lock")
  private Runnable listener = () -> {};

  ChannelState(Poller poller) {
    this.poller = poller;
  }

  OrderedLock lock() {
    return lock;
  }

  /** Wakes all waiting threads, so that they look at their conditions again. */
  void signal() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for {@code condition}, the end of the channel or the deadline. ORDER: messages that init
   * has sent by the deadline are received before that decides.
   *
   * @param condition takes the lock where it needs it
   * @return whether the condition holds
   */
  boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
    if (awaitNews(condition, deadline)) {
      return true;
    }
    if (!isClosed()) {
      var _ = poller.catchUp(Deadline.in(HEAR_BOUND));
    }
    return awaitNews(condition, Deadline.in(Duration.ZERO));
  }

  private boolean awaitNews(BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    lock.lock();
    try {
      while (!condition.getAsBoolean() && !closed && !deadline.isOver()) {
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return condition.getAsBoolean();
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

  /** Runs {@code task} once the other end is gone, at once if it is already. */
  void whenClosed(Runnable task) {
    boolean already;
    lock.lock();
    try {
      listener = task;
      already = closed;
    } finally {
      lock.unlock();
    }
    if (already) {
      task.run();
    }
  }

  /** The other end is gone. */
  void close() {
    Runnable waiter;
    lock.lock();
    try {
      closed = true;
      waiter = listener;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    waiter.run();
  }
}
