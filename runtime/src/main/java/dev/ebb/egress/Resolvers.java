package dev.ebb.egress;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A bounded number of threads that resolve names; idle ones end. Thread-safe.
 *
 * <p>They are shared by all boxes and outlive them: a look-up cannot be cancelled, so threads of
 * each box would have no bound.
 */
final class Resolvers {
  private static final AtomicInteger BEGUN = new AtomicInteger();
  private static final Duration IDLE = Duration.ofSeconds(5);

  private final ThreadPoolExecutor threads;

  /** The waiting look-ups of each owner that has one under way. */
  @GuardedBy("this")
  private final Map<String, Queue<Runnable>> waiting = new HashMap<>();

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

  /** Runs one look-up of an owner at a time; its other look-ups wait and delay no other owner. */
  synchronized void execute(String owner, Runnable task) {
    Queue<Runnable> others = waiting.get(owner);
    if (others != null) {
      others.add(task);
      return;
    }
    waiting.put(owner, new ArrayDeque<>());
    begin(owner, task);
  }

  private void begin(String owner, Runnable task) {
    threads.setKeepAliveTime(IDLE.toNanos(), TimeUnit.NANOSECONDS);
    threads.execute(
        () -> {
          try {
            task.run();
          } finally {
            next(owner);
          }
        });
  }

  /** RACE: all may have been called off meanwhile. */
  private synchronized void next(String owner) {
    Queue<Runnable> others = waiting.get(owner);
    Runnable task = others == null ? null : others.poll();
    if (task == null) {
      waiting.remove(owner);
    } else {
      begin(owner, task);
    }
  }

  /** There is nothing more to do for now: idle threads end at once. */
  synchronized void rest() {
    waiting.clear();
    threads.getQueue().clear();
    threads.setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }
}
