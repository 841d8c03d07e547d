package dev.ebb.pool;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.process.ProcFs;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Makes missing boxes, one at a time, and only when the host has time for it: callers go first, and
 * other work of the host goes first while enough boxes wait. For one thread, except {@link #asked},
 * {@link #copy} and {@link #pause}.
 */
final class Refill {
  private static final Logger LOG = System.getLogger(Refill.class.getName());
  private static final long ROUND_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long it waits for callers whose boxes are being made. */
  private static final long BUSY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** How long it leaves the processors to the latest caller, unless no box is left. */
  private static final long ASKED_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** The shorter wait after a caller, when the boxes left will not last. */
  private static final long ASKED_OFTEN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** How long it waits for other work of this host. */
  private static final long CROWDED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int CROWD = 2 * Runtime.getRuntime().availableProcessors();

  private final WarmPool.Maker maker;
  private final Preloads preloads;
  private final BoxSpec spec;
  private final Shelves shelves;

  private volatile long askedAt = System.nanoTime();
  private volatile long tryAt = System.nanoTime();

  /** The end of the last quiet moment. */
  private long crowdedSince = System.nanoTime();

  Refill(WarmPool.Maker maker, Preloads preloads, BoxSpec spec, Shelves shelves) {
    this.maker = maker;
    this.preloads = preloads;
    this.spec = spec;
    this.shelves = shelves;
  }

  /** Called when a caller got a box, and wants the processors. */
  void asked() {
    askedAt = System.nanoTime();
  }

  /** Makes nothing for this long. */
  void pause(Duration howLong) {
    tryAt = System.nanoTime() + howLong.toNanos();
  }

  /** Returns whether the latest caller has had the processors for itself, or for long enough. */
  boolean isQuiet() {
    return !isPaused() && !maker.isBusy() && System.nanoTime() - askedAt >= ASKED_NANOS;
  }

  /**
   * Makes a box, or waits a while for a reason to make one.
   *
   * @param isAllowed whether boxes of this kind may be made now
   */
  void next(PoolRoom room, Predicate<Shelf> isAllowed) throws InterruptedException {
    long now = System.nanoTime();
    Optional<Shelf> next =
        shelves.begin(
            room, shelf -> now - tryAt >= 0 && isTime(shelf, now) && isAllowed.test(shelf));
    if (next.isPresent()) {
      make(next.get());
    } else {
      shelves.awaitNews(
          shelves.isMissing(room) ? Math.clamp(tryAt - now, BUSY_NANOS, ROUND_NANOS) : ROUND_NANOS);
    }
  }

  private boolean isTime(Shelf shelf, long now) {
    boolean isUrgent = shelf.isRunningOut();
    long quiet = shelf.size() == 0 ? 0 : isUrgent ? ASKED_OFTEN_NANOS : ASKED_NANOS;
    if (maker.isBusy() || now - askedAt < quiet) {
      return false;
    }
    if (isUrgent || ProcFs.runnable() <= CROWD) {
      crowdedSince = now;
    }
    return now == crowdedSince || now - crowdedSince >= CROWDED_NANOS;
  }

  private void make(Shelf shelf) throws InterruptedException {
    long begin = System.nanoTime();
    PoolItem item = null;
    try {
      item = make(shelf.interpreter());
    } catch (KernelException | RuntimeException e) {
      if (shelves.isClosed()) {
        throw new InterruptedException();
      }
      String kind = shelf.interpreter().map(Interpreter::wireName).orElse("none");
      LOG.log(Level.WARNING, "event=pool_not_filled interpreter=" + kind, e);
    } finally {
      var took = Duration.ofNanos(System.nanoTime() - begin);
      if (!shelves.end(shelf, item, took, () -> !isPaused()) && item != null) {
        maker.discard(item.box());
      }
    }
  }

  boolean isPaused() {
    return System.nanoTime() - tryAt < 0;
  }

  private PoolItem make(Optional<Interpreter> interpreter)
      throws KernelException, InterruptedException {
    return make(
        spec,
        interpreter,
        box ->
            interpreter.isPresent()
                ? PoolItem.with(box, interpreter.get(), preloads.imported())
                : PoolItem.plain(box));
  }

  /** Makes a box for a caller, on the thread of the caller. */
  PoolItem copy(Interpreter interpreter, BoxSpec wanted, ExecSpec order)
      throws KernelException, InterruptedException {
    return make(
        wanted,
        Optional.of(interpreter),
        box -> PoolItem.copied(box, interpreter, preloads.imported(), order));
  }

  private interface Furnishing {
    PoolItem furnish(Box box) throws KernelException, InterruptedException;
  }

  private PoolItem make(BoxSpec made, Optional<Interpreter> interpreter, Furnishing furnishing)
      throws KernelException, InterruptedException {
    Box box = maker.make(made, interpreter);
    try {
      return furnishing.furnish(box);
    } catch (KernelException | InterruptedException | RuntimeException e) {
      maker.discard(box);
      throw e;
    }
  }
}
