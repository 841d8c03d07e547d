package dev.ebb.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The ordered locks that each thread holds, known only where assertions are enabled. Every method
 * returns true, so that it can stand in an {@code assert}, or throws.
 */
final class HeldLocks {
  private static final ThreadLocal<List<Held>> HELD = ThreadLocal.withInitial(ArrayList::new);

  /** Threads of a test that shall deadlock. */
  static final Set<Thread> UNCHECKED = ConcurrentHashMap.newKeySet();

  private record Held(Object lock, LockOrder place) {}

  private HeldLocks() {}

  /** Throws if the current thread holds a lock of the same or a later place. */
  static boolean mayTake(Object lock, LockOrder place) {
    List<Held> held = HELD.get();
    boolean isReentrant = held.stream().anyMatch(each -> each.lock.equals(lock));
    if (isReentrant || UNCHECKED.contains(Thread.currentThread())) {
      return true;
    }
    for (Held each : held) {
      if (each.place.compareTo(place) >= 0) {
        throw new AssertionError("lock " + place + " is taken while " + each.place + " is held");
      }
    }
    return true;
  }

  static boolean took(Object lock, LockOrder place) {
    HELD.get().add(new Held(lock, place));
    return true;
  }

  static boolean gave(Object lock) {
    List<Held> held = HELD.get();
    for (int i = held.size() - 1; i >= 0; i--) {
      if (held.get(i).lock.equals(lock)) {
        held.remove(i);
        break;
      }
    }
    if (held.isEmpty()) {
      HELD.remove();
    }
    return true;
  }
}
