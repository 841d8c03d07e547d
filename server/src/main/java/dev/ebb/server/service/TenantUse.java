package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/** Keeps the use of each tenant below its quota. Thread-safe. */
final class TenantUse {
  private final Engine engine;
  private final Quotas quotas;
  private final BoxList list;
  private final OrderedLock counting = new OrderedLock(LockOrder.BOX_COUNTS);

  /** Commands that were admitted and are not on the list of their box yet, by tenant. */
  @GuardedBy("counting")
  private final Map<String, Integer> starting = new HashMap<>();

  TenantUse(Engine engine, Quotas quotas, BoxList list) {
    this.engine = engine;
    this.quotas = quotas;
    this.list = list;
  }

  /** Returns what a tenant uses now, as its quota counts it: boxes by their limits. */
  Map<Quota.Kind, Double> of(String tenant) {
    var use = new EnumMap<Quota.Kind, Double>(Quota.Kind.class);
    list.present(tenant)
        .forEach(
            box -> {
              Quota.ofBox(box.order().spec().limits())
                  .forEach((kind, amount) -> use.merge(kind, amount, Double::sum));
              use.merge(Quota.Kind.EXECS, (double) box.running(), Double::sum);
            });
    return use;
  }

  /** Lists a box, unless it exceeds the quota. One at a time: only one of two can be the last. */
  void list(TenantBox box) {
    counting.lock();
    try {
      requireUserLeft(box.tenant());
      Quota quota = quotas.of(box.tenant());
      // Computing the use of one tenant visits all boxes.
      var use = quota.isNone() ? Map.<Quota.Kind, Double>of() : of(box.tenant());
      Quota.ofBox(box.order().spec().limits())
          .forEach((kind, more) -> quota.check(kind, use.getOrDefault(kind, 0.0), more));
      list.add(box);
    } finally {
      counting.unlock();
    }
  }

  private void requireUserLeft(String tenant) {
    UidShare.require(
        engine.uids().most(), engine.uids().left(), () -> list.present(tenant).count());
  }

  /** Notes that a command is about to start; refuses it if it exceeds the quota. */
  void beginStart(String tenant) {
    countStarting(tenant, 1);
  }

  /** Notes that the command is listed, or failed to start. */
  void endStart(String tenant) {
    countStarting(tenant, -1);
  }

  private void countStarting(String tenant, int more) {
    counting.lock();
    try {
      int others = starting.getOrDefault(tenant, 0);
      Quota quota = more > 0 ? quotas.of(tenant) : Quota.NONE;
      if (!quota.isNone()) {
        double running = of(tenant).getOrDefault(Quota.Kind.EXECS, 0.0) + others;
        quota.check(Quota.Kind.EXECS, running, more);
      }
      starting.put(tenant, others + more);
      starting.values().removeIf(count -> count == 0);
    } finally {
      counting.unlock();
    }
  }
}
