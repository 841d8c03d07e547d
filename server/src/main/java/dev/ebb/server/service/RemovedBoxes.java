package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.Certificate;
import dev.ebb.server.service.access.Caller;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The boxes that were removed last, so that a repeated removal gets its answer again. Kept in
 * memory only. Thread-safe.
 */
final class RemovedBoxes {
  static final int MOST_OF_A_TENANT = 100;
  static final Duration AGE = Duration.ofDays(1);

  record Removed(
      String id, String tenant, Optional<String> name, Certificate certificate, Instant at) {
    private boolean isMeantBy(Caller caller, String word) {
      return id.equals(word) || (name.equals(Optional.of(word)) && caller.tenant().equals(tenant));
    }
  }

  private final OrderedLock lock = new OrderedLock(LockOrder.REMOVED_BOXES);

  /** By tenant, the latest first. */
  @GuardedBy("lock")
  private final Map<String, Deque<Removed>> all = new HashMap<>();

  void add(Removed removed) {
    lock.lock();
    try {
      var ofTenant = all.computeIfAbsent(removed.tenant(), tenant -> new ArrayDeque<>());
      // RACE: two callers may have removed it at once.
      ofTenant.removeIf(each -> each.id().equals(removed.id()));
      ofTenant.addFirst(removed);
      if (ofTenant.size() > MOST_OF_A_TENANT) {
        ofTenant.removeLast();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Finds the latest removed box of this id or name. */
  Optional<Removed> find(Caller caller, String word, Instant now) {
    lock.lock();
    try {
      return all.entrySet().stream()
          .filter(each -> caller.mayTouch(each.getKey()))
          .flatMap(each -> each.getValue().stream())
          .filter(each -> each.isMeantBy(caller, word) && now.isBefore(each.at().plus(AGE)))
          .findFirst();
    } finally {
      lock.unlock();
    }
  }
}
