package dev.ebb.server.service;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.BoxRegistry.Created;
import dev.ebb.server.service.BoxRegistry.Idempotency;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Function;

/**
 * The idempotency keys of all tenants: the first request makes the box, others get it. Thread-safe.
 */
final class IdempotencyKeys {
  private final Map<Key, Use> first = new ConcurrentHashMap<>();
  private final Function<String, Optional<TenantBox>> boxes;

  /**
   * No keys yet.
   *
   * @param boxes finds a box by its id
   */
  IdempotencyKeys(Function<String, Optional<TenantBox>> boxes) {
    this.boxes = boxes;
  }

  private record Key(String tenant, String word) {}

  /**
   * The first use of a key: for which body, and its result.
   *
   * @param done the id of the box, when it is made and filled
   */
  private record Use(String digest, CompletableFuture<String> done) {
    boolean isOf(TenantBox box) {
      return done.state() == Future.State.SUCCESS && done.resultNow().equals(box.id());
    }
  }

  /** Makes and fills a box. */
  interface Creation {
    TenantBox create() throws IOException, InterruptedException;
  }

  /**
   * Returns the box of an earlier request with this key, if there was one; waits until it is made.
   */
  Optional<Created> before(String tenant, Idempotency wanted) throws InterruptedException {
    Use before = first.get(new Key(tenant, wanted.key()));
    return before == null ? Optional.empty() : repeated(before, wanted.digest());
  }

  /** Makes a box, unless another request with this key does or did. */
  Created once(String tenant, Idempotency wanted, Creation creation)
      throws IOException, InterruptedException {
    var key = new Key(tenant, wanted.key());
    var mine = new Use(wanted.digest(), new CompletableFuture<>());
    for (Use other = first.putIfAbsent(key, mine);
        other != null;
        other = first.putIfAbsent(key, mine)) {
      Optional<Created> made = repeated(other, wanted.digest());
      if (made.isPresent()) {
        return made.get();
      }
      first.remove(key, other);
    }
    try {
      TenantBox box = creation.create();
      mine.done().complete(box.id());
      return new Created(box, true);
    } catch (IOException | InterruptedException | RuntimeException e) {
      // RACE: another order may own the key by now.
      first.remove(key, mine);
      mine.done().completeExceptionally(e);
      throw e;
    }
  }

  /** Waits for the first request, and fails like it; empty if its box was removed meanwhile. */
  private Optional<Created> repeated(Use first, String digest) throws InterruptedException {
    if (!first.digest().equals(digest)) {
      throw new SandboxException(
          ErrorCode.CONFLICT, "this idempotency key was used for another request");
    }
    try {
      return boxes.apply(first.done().get()).map(box -> new Created(box, false));
    } catch (ExecutionException e) {
      throw e.getCause() instanceof SandboxException reason
          ? reason
          : new SandboxException(
              ErrorCode.SETUP_FAILED, "the first request with this idempotency key broke off");
    }
  }

  /** Takes over the key of an existing box. */
  void adopt(TenantBox box) {
    box.idempotency()
        .ifPresent(
            known ->
                first.put(
                    new Key(box.tenant(), known.key()),
                    new Use(known.digest(), CompletableFuture.completedFuture(box.id()))));
  }

  void forget(TenantBox box) {
    first.values().removeIf(each -> each.isOf(box));
  }
}
