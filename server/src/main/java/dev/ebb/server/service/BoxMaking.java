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
 * How a tenant comes by the box of the engine: it was made ahead, is made now, or was adopted.
 * Thread-safe.
 */
final class BoxMaking {
  /** The box, if it was made ahead. */
  private final Optional<PoolItem> warm;

  /** The tenant has the box that was made ahead, or it was refused. */
  private final AtomicBoolean isClaimed = new AtomicBoolean();

  private final CompletableFuture<Box> made = new CompletableFuture<>();

  /** The box was made, and is on record only. */
  private volatile boolean hasEnded;

  /**
   * A box that is to be made, or was made ahead.
   *
   * @param warm empty: it is still to be made
   */
  BoxMaking(Optional<PoolItem> warm) {
    this.warm = warm;
  }

  /** A box that is there already. */
  static BoxMaking of(Box box) {
    var making = new BoxMaking(Optional.empty());
    making.made.complete(box);
    return making;
  }

  /** A box that has ended, and is on record only. */
  static BoxMaking ofEnded(EndedBox box) {
    var making = new BoxMaking(Optional.empty());
    making.hasEnded = true;
    making.fail(
        new SandboxException(
            ErrorCode.WRONG_STATE,
            "box " + box.id() + " is not running but " + box.state().word()));
    return making;
  }

  boolean hasEnded() {
    return hasEnded;
  }

  /** Makes the box, or hands out the one that was made ahead; {@code onChange} gets its states. */
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

  /** The box will never be made. */
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

  /** Empty while the box is not made, or if it could not be. */
  Optional<Box> made() {
    return made.state() == Future.State.SUCCESS ? Optional.of(made.resultNow()) : Optional.empty();
  }

  boolean hasFailed() {
    return !hasEnded && made.isCompletedExceptionally();
  }

  /** The box that was made ahead for an order that was refused; once. */
  Optional<PoolItem> takeUnused() {
    return warm.filter(_ -> isClaimed.compareAndSet(false, true));
  }

  /** The file that it was taken with, if it could be placed. */
  Optional<FileEntry> placed() {
    return warm.flatMap(PoolItem::written);
  }

  /** The box that was made ahead, if this very command waits in it. */
  Optional<PoolItem> waitingFor(ExecSpec spec) {
    return warm.filter(item -> item.waitsFor(spec));
  }
}
