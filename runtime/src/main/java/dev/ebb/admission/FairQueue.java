package dev.ebb.admission;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The waiting requests: tenants take turns, and each tenant's requests keep their order. When the
 * queue is full, the last request of the tenant with the most is dropped. Not thread-safe: guarded
 * by its owner's lock.
 */
final class FairQueue {
  private final int most;

  /** The tenant whose turn it is comes first. */
  private final Map<String, Deque<Admission.Waiter>> tenants = new LinkedHashMap<>();

  private int size;

  FairQueue(int most) {
    this.most = most;
  }

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** Adds a request; returns the one to drop for it, perhaps this one, or null if there is room. */
  Admission.@Nullable Waiter add(Admission.Waiter waiter) {
    if (size < most) {
      put(waiter);
      return null;
    }
    Deque<Admission.Waiter> longest =
        tenants.values().stream()
            .max(Comparator.comparingInt(Deque::size))
            .orElseGet(ArrayDeque::new);
    Deque<Admission.Waiter> own = tenants.getOrDefault(waiter.tenant, new ArrayDeque<>());
    if (longest.size() <= own.size() + 1) {
      return waiter;
    }
    Admission.Waiter last = longest.getLast();
    remove(last);
    put(waiter);
    return last;
  }

  private void put(Admission.Waiter waiter) {
    tenants.computeIfAbsent(waiter.tenant, tenant -> new ArrayDeque<>()).add(waiter);
    size++;
  }

  /** Returns the request whose turn it is. */
  Admission.@Nullable Waiter first() {
    return tenants.isEmpty() ? null : tenants.values().iterator().next().getFirst();
  }

  /** Removes the first request, and gives the next tenant its turn. */
  void next() {
    var turn = tenants.entrySet().iterator().next();
    tenants.remove(turn.getKey());
    turn.getValue().removeFirst();
    size--;
    if (!turn.getValue().isEmpty()) {
      tenants.put(turn.getKey(), turn.getValue());
    }
  }

  /** Removes a request; no-op if absent. */
  void remove(Admission.Waiter waiter) {
    Deque<Admission.Waiter> own = tenants.get(waiter.tenant);
    if (own != null && own.remove(waiter)) {
      size--;
      if (own.isEmpty()) {
        tenants.remove(waiter.tenant);
      }
    }
  }
}
