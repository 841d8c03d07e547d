package dev.ebb.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.box.Box;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Retries the release of stuck boxes until they are gone. A thread exists only while a box is
 * stuck. Thread-safe.
 */
final class Retries implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Retries.class.getName());
  private static final Duration FIRST = Duration.ofSeconds(2);
  private static final Duration MOST = Duration.ofMinutes(1);

  private final Predicate<Box> release;
  private final OrderedLock lock = new OrderedLock(LockOrder.ENGINE_RETRIES);
  private final Condition changed = lock.newCondition();

  @GuardedBy("lock")
  private final Set<Box> stuck = new LinkedHashSet<>();

  @GuardedBy("lock")
  private @Nullable Thread thread;

  @GuardedBy("lock")
  private boolean closed;

  /**
   * Waits for stuck boxes.
   *
   * @param release tries once; returns true when the box is gone
   */
  Retries(Predicate<Box> release) {
    this.release = release;
  }

  /** Adds a box; no-op if it is there already, or after the close. */
  void add(Box box) {
    lock.lock();
    try {
      if (!closed && stuck.add(box) && thread == null) {
        thread = Thread.ofVirtual().name("ebb-retries").start(this::run);
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    Duration wait = FIRST;
    while (true) {
      List<Box> due = due(wait);
      if (due.isEmpty()) {
        return;
      }
      due.forEach(this::retry);
      wait = wait.multipliedBy(2).compareTo(MOST) < 0 ? wait.multipliedBy(2) : MOST;
    }
  }

  /** Returns the boxes to retry after {@code wait}; none: this thread is done. */
  private List<Box> due(Duration wait) {
    lock.lock();
    try {
      long nanos = wait.toNanos();
      while (!closed && !stuck.isEmpty() && nanos > 0) {
        nanos = changed.awaitNanos(nanos);
      }
      if (closed || stuck.isEmpty()) {
        stuck.clear();
        thread = null;
      }
      return List.copyOf(stuck);
    } catch (InterruptedException e) {
      // Only a JVM that shuts down interrupts this thread.
      Thread.currentThread().interrupt();
      return List.of();
    } finally {
      lock.unlock();
    }
  }

  private void retry(Box box) {
    boolean isGone = false;
    try {
      isGone = release.test(box);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "event=retry_failed, trying again box=" + box.id(), e);
    }
    if (isGone) {
      lock.lock();
      try {
        stuck.remove(box);
      } finally {
        lock.unlock();
      }
    }
  }

  /** Waits for a release that has begun. */
  @Override
  public void close() {
    Thread running;
    lock.lock();
    try {
      closed = true;
      running = thread;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (running != null) {
      boolean interrupted = false;
      while (running.isAlive()) {
        try {
          running.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
