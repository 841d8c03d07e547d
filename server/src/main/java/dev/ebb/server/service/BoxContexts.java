package dev.ebb.server.service;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;

/** The contexts of one box, by id and by name. Thread-safe. */
final class BoxContexts {
  private static final int CONTEXTS_MOST = 32;

  private final TenantBox box;
  private final Map<String, TenantContext> contexts = new ConcurrentSkipListMap<>();
  private final OrderedLock newContexts = new OrderedLock(LockOrder.CONTEXT_CREATE);

  /** How many contexts were made; each takes its id from it. */
  private final AtomicInteger count = new AtomicInteger();

  BoxContexts(TenantBox box) {
    this.box = box;
  }

  /** Returns the contexts that were not removed, the oldest first. */
  List<TenantContext> all() {
    return contexts.values().stream()
        .sorted(Comparator.comparing(TenantContext::createdAt))
        .toList();
  }

  /** Finds a context by id or by name. */
  Optional<TenantContext> find(String word) {
    return contexts.values().stream()
        .filter(each -> each.id().equals(word) || each.name().equals(Optional.of(word)))
        .findFirst();
  }

  /** Finds a context by id or by name; throws if there is none. */
  TenantContext require(String word) {
    return find(word)
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.NOT_FOUND,
                    "box %s has no context \"%s\"; a context ends with its box, or with the daemon"
                        .formatted(box.id(), word)));
  }

  /** Makes contexts one at a time, so that no two get one name. */
  TenantContext create(TenantContext.Order what, TenantContext.Start start)
      throws InterruptedException {
    newContexts.lockInterruptibly();
    try {
      requireRoom(what.name());
      var context = new TenantContext(box, "c" + count.incrementAndGet(), what, start.start());
      contexts.put(context.id(), context);
      return context;
    } finally {
      newContexts.unlock();
    }
  }

  private void requireRoom(Optional<String> name) {
    if (contexts.size() >= CONTEXTS_MOST) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "box " + box.id() + " has " + CONTEXTS_MOST + " contexts already");
    }
    if (name.flatMap(this::find).isPresent()) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "box %s has a context \"%s\"".formatted(box.id(), name.get()));
    }
  }

  void forget(TenantContext context) {
    contexts.remove(context.id(), context);
  }

  /** Returns true for an interpreter that waits for code, which does not count as work. */
  boolean isWaiting(TenantExec exec) {
    return contexts.values().stream().anyMatch(each -> each.exec() == exec && each.isIdle());
  }
}
