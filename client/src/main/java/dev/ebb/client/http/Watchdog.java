package dev.ebb.client.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Closes a channel if a blocking call on it lasts too long: a unix socket has no timeouts of its
 * own. Owns one daemon thread, which exists only while a call waits, and for a while after.
 */
final class Watchdog implements Closeable {
  private static final long IDLE_SECONDS = 5;

  private final ThreadFactory threads;

  @GuardedBy("this")
  private @Nullable ScheduledThreadPoolExecutor executor;

  @GuardedBy("this")
  private boolean closed;

  Watchdog(ThreadFactory threads) {
    this.threads = threads;
  }

  /** Watches one call until {@link #isInTime}. */
  static final class Watch {
    private static final Watch NONE = new Watch();

    private final AtomicBoolean over = new AtomicBoolean();
    private @Nullable Future<?> alarm;

    /** Ends the watch; returns false if the alarm came first and the channel is closed. */
    boolean isInTime() {
      if (alarm == null) {
        return true;
      }
      alarm.cancel(false);
      return over.compareAndSet(false, true);
    }

    private void ring(Closeable victim) {
      if (over.compareAndSet(false, true)) {
        try {
          victim.close();
        } catch (IOException e) {
          // The waiting call fails with a timeout whether or not the close succeeded.
        }
      }
    }
  }

  Watch watch(Closeable victim, Deadline deadline) {
    if (deadline.isNever()) {
      return Watch.NONE;
    }
    var watch = new Watch();
    long left = Math.max(deadline.nanosLeft(), 0);
    watch.alarm = executor().schedule(() -> watch.ring(victim), left, TimeUnit.NANOSECONDS);
    return watch;
  }

  private synchronized ScheduledThreadPoolExecutor executor() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
    if (executor == null) {
      executor = new ScheduledThreadPoolExecutor(1, this::thread);
      executor.setRemoveOnCancelPolicy(true);
      executor.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
      executor.allowCoreThreadTimeOut(true);
    }
    return executor;
  }

  private Thread thread(Runnable work) {
    Thread thread = threads.newThread(work);
    thread.setName("ebb-client-watchdog");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (executor != null) {
      executor.shutdownNow();
    }
  }
}
