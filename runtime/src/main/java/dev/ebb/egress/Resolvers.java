package dev.ebb.egress;

import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that look names up, so many at most; those with nothing to do go. Thread-safe.
 *
 * <p>They outlive the boxes that they work for: nobody can call a look-up off, and whoever would
 * begin with other threads each time had any number of them.
 */
final class Resolvers {
  private static final AtomicInteger BEGUN = new AtomicInteger();
  private static final Duration IDLE = Duration.ofSeconds(5);

  private final ThreadPoolExecutor threads;

  Resolvers(int most) {
    threads =
        new ThreadPoolExecutor(
            most,
            most,
            IDLE.toNanos(),
            TimeUnit.NANOSECONDS,
            new LinkedBlockingQueue<>(),
            task ->
                Thread.ofPlatform()
                    .name("ebb-resolver-" + BEGUN.incrementAndGet())
                    .daemon()
                    .unstarted(task));
    threads.allowCoreThreadTimeOut(true);
  }

  void execute(Runnable task) {
    threads.setKeepAliveTime(IDLE.toNanos(), TimeUnit.NANOSECONDS);
    threads.execute(task);
  }

  /** There is nothing more to do for now: who is idle goes at once. */
  void rest() {
    threads.getQueue().clear();
    threads.setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }
}
