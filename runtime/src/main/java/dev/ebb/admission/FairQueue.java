package dev.ebb.admission;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait, tenants in turn, each tenant's in the order they came. Bounded: when it is full
 * the last of whoever has most in it has to go. Not thread-safe: guarded by its owner's lock.
 */
final class FairQueue {
  private final int most;

  /** The tenant whose turn it is first. */
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

  /** Who has to go for it, perhaps itself; null when there is room. */
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

  /** Whose turn it is. */
  Admission.@Nullable Waiter first() {
    return tenants.isEmpty() ? null : tenants.values().iterator().next().getFirst();
  }

  /** Takes the first out, and gives the next tenant his turn. */
  void next() {
    var turn = tenants.entrySet().iterator().next();
    tenants.remove(turn.getKey());
    turn.getValue().removeFirst();
    size--;
    if (!turn.getValue().isEmpty()) {
      tenants.put(turn.getKey(), turn.getValue());
    }
  }

  /** One that is not there is none's loss. */
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
