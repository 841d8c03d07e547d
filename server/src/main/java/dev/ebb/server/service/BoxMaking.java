package dev.ebb.server.service;

import dev.ebb.box.Box;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FileEntry;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolItem;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Gives a tenant its box of the engine, which was made in advance, is made now, or was adopted.
 * Thread-safe.
 */
final class BoxMaking {
  /** The box, if it was made in advance. */
  private final Optional<PoolItem> warm;

  /** The pooled box was handed to the tenant, or refused. */
  private final AtomicBoolean isClaimed = new AtomicBoolean();

  private final CompletableFuture<Box> made = new CompletableFuture<>();

  /** The box was made, and only its record is left. */
  private volatile boolean hasEnded;

  /**
   * Prepares a box that is to be made, or was made in advance.
   *
   * @param warm empty: it is still to be made
   */
  BoxMaking(Optional<PoolItem> warm) {
    this.warm = warm;
  }

  /** Holds an existing box. */
  static BoxMaking of(Box box) {
    var making = new BoxMaking(Optional.empty());
    making.made.complete(box);
    return making;
  }

  /** Holds a box that has ended, of which only the record is left. */
  static BoxMaking ofEnded(EndedBox box) {
    var making = new BoxMaking(Optional.empty());
    making.hasEnded = true;
    making.fail(
        new SandboxException(
            ErrorCode.WRONG_STATE,
            "box " + box.id() + " is not running but " + box.state().wireName()));
    return making;
  }

  boolean hasEnded() {
    return hasEnded;
  }

  /** Makes the box, or hands out the pooled one; calls {@code onChange} with its states. */
  void make(Facilities facilities, BoxId id, BoxOrder order, Consumer<BoxState> onChange) {
    long begun = System.nanoTime();
    try {
      made.complete(
          warm.isPresent()
              ? handedOut(warm.get(), onChange)
              : facilities.engine().create(id, order.spec(), onChange));
      facilities.metrics().created(since(begun), true);
    } catch (RuntimeException e) {
      facilities.metrics().created(since(begun), false);
      made.completeExceptionally(e);
      throw e;
    }
  }

  private Box handedOut(PoolItem item, Consumer<BoxState> onChange) {
    isClaimed.set(true);
    return item.handTo(onChange);
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }

  /** Notes that the box will never be made. */
  void fail(SandboxException reason) {
    made.completeExceptionally(reason);
  }

  /** Waits until the box is made. */
  Box await() {
    try {
      return made.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof SandboxException reason
          ? reason
          : new IllegalStateException(e.getCause());
    }
  }

  /** Returns the box; empty while it is not made, or if that failed. */
  Optional<Box> made() {
    return made.state() == Future.State.SUCCESS ? Optional.of(made.resultNow()) : Optional.empty();
  }

  boolean hasFailed() {
    return !hasEnded && made.isCompletedExceptionally();
  }

  /** Returns the pooled box of a refused order, once. */
  Optional<PoolItem> takeUnused() {
    return warm.filter(_ -> isClaimed.compareAndSet(false, true));
  }

  /** Returns the entry of its first file, if init could write it. */
  Optional<FileEntry> placed() {
    return warm.flatMap(PoolItem::written);
  }

  /** Returns the pooled box, if this command waits in it. */
  Optional<PoolItem> waitingFor(ExecSpec spec) {
    return warm.filter(item -> item.waitsFor(spec));
  }
}
