package dev.ebb.kernel;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The threads that wait for an {@link OrderedLock} now, virtual ones included, which the JVM's own
 * deadlock detection does not see. Thread-safe.
 */
final class LockWaits {
  private static final Map<Thread, OrderedLock> WAITING = new ConcurrentHashMap<>();

  private LockWaits() {}

  static void begin(OrderedLock lock) {
    WAITING.put(Thread.currentThread(), lock);
  }

  static void end() {
    WAITING.remove(Thread.currentThread());
  }

  /** The locks for which a thread waits now. */
  static Set<OrderedLock> contended() {
    return new HashSet<>(WAITING.values());
  }

  /** The threads that wait for {@code lock} now. */
  static List<Thread> waitersFor(OrderedLock lock) {
    var waiters = new ArrayList<Thread>();
    WAITING.forEach(
        (thread, wanted) -> {
          if (wanted == lock) {
            waiters.add(thread);
          }
        });
    return waiters;
  }

  /**
   * Returns whether the holder of {@code lock} waits, directly or through other locks, for {@code
   * lock} itself.
   *
   * <p>RACE: the threads run on while this looks. A cycle that is seen again with no lock taken in
   * between is a deadlock.
   */
  static boolean isInCycle(OrderedLock lock) {
    var seen = new HashSet<OrderedLock>();
    OrderedLock current = lock;
    while (seen.add(current)) {
      Thread holder = current.holder();
      @Nullable OrderedLock wanted = holder == null ? null : WAITING.get(holder);
      if (wanted == null) {
        return false;
      }
      if (wanted == lock) {
        return true;
      }
      current = wanted;
    }
    return false;
  }
}
