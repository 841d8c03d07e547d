package dev.ebb.kernel;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Work whose waits all have deadlines. {@link StallDetector} reports it, with the stack of its
 * thread, when it goes on for longer than all of them together.
 */
public final class BoundedWork implements AutoCloseable {
  private static final Set<BoundedWork> RUNNING = ConcurrentHashMap.newKeySet();

  private final String what;
  private final Duration bound;
  private final Thread thread = Thread.currentThread();

  private BoundedWork(String what, Duration bound) {
    this.what = what;
    this.bound = bound;
  }

  /** Begins work of this thread. */
  public static BoundedWork begin(String what, Duration bound) {
    var work = new BoundedWork(what, bound);
    RUNNING.add(work);
    return work;
  }

  static Set<BoundedWork> running() {
    return RUNNING;
  }

  String what() {
    return what;
  }

  /** How long it may take, as a number of looks, one a second. */
  int looks() {
    return (int) bound.toSeconds();
  }

  Thread thread() {
    return thread;
  }

  @Override
  public void close() {
    RUNNING.remove(this);
  }
}
