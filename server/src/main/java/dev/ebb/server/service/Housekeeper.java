package dev.ebb.server.service;

import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.kernel.StallWatch;
import dev.ebb.model.BoxState;
import dev.ebb.model.SandboxException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Ends boxes whose time to live or idle timeout is over, retries stuck boxes, and forgets those
 * that ended long ago; frees resources when they are short. One thread makes the rounds.
 */
final class Housekeeper implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Housekeeper.class.getName());
  private static final Duration ROUND = Duration.ofMillis(100);

  /** How many expired boxes are removed per round: there may be thousands, and other work waits. */
  private static final int OUTDATED_A_ROUND = 100;

  /** How many boxes are forgotten between two checks whether that is enough. */
  private static final int FORGOTTEN_A_LOOK = 10;

  private final Engine engine;
  private final History history;
  private final BoxList list;
  private final Endings endings;
  private volatile boolean isOver;
  private volatile @Nullable Thread thread;

  Housekeeper(Engine engine, History history, BoxList list, Endings endings) {
    this.engine = engine;
    this.history = history;
    this.list = list;
    this.endings = endings;
  }

  void start() {
    thread = Thread.ofVirtual().name("ebb-housekeeper").start(this::makeRounds);
  }

  @Override
  public void close() {
    isOver = true;
    Thread rounds = thread;
    if (rounds != null) {
      rounds.interrupt();
    }
  }

  private void makeRounds() {
    try {
      var stalls = new StallWatch();
      while (!isOver) {
        Thread.sleep(ROUND);
        if (!stalls.hasStalled()) {
          makeRound(Instant.now());
        }
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=housekeeper_ends");
    }
  }

  /** Runs one round; its failure does not stop the next. */
  private void makeRound(Instant now) {
    try {
      list.all().forEach(box -> look(box, now));
      forgetTheOldest(now);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=housekeeping_failed", e);
    }
  }

  private void look(TenantBox box, Instant now) {
    if (box.state().isAlive() && box.isOverdue(now)) {
      endings.endAsync(box, EndedBy.TTL);
    } else if (box.state().isAlive() && box.isIdle()) {
      endings.endAsync(box, EndedBy.IDLE);
    } else if (box.state() == BoxState.LOST && box.ending().isToBeTried(now)) {
      // The thread that ends a lost box may have failed.
      box.ending().retryLater();
      endings.endAsync(box, EndedBy.DIED);
    } else if (box.state() == BoxState.STUCK && box.ending().isToBeTried(now)) {
      endings.endAsync(box, EndedBy.REQUEST);
    } else if (box.state() == BoxState.GONE) {
      // As far as this daemon knows, the last command may have ended later than that.
      endings.retire(box);
    }
  }

  private void forgetTheOldest(Instant now) {
    try {
      engine.forgetOutdated(OUTDATED_A_ROUND);
    } catch (SandboxException e) {
      LOG.log(Level.ERROR, "event=forget_failed", e);
    }
    list.ended().filter(box -> box.isToBeTried(now)).toList().forEach(endings::forget);
    history.expired(gone(), EndedBox::endedAt, now).forEach(endings::forget);
  }

  /** Forgets ended boxes, except stuck ones. */
  private List<EndedBox> gone() {
    return list.ended().filter(box -> box.state() == BoxState.GONE).toList();
  }

  // --- when little is left ---

  /** Ends idle boxes that allow it, the longest idle first. */
  int endIdle(BooleanSupplier enough) {
    int ended = 0;
    List<TenantBox> idle =
        list.all()
            .filter(box -> box.state().isAlive() && box.mayEndIdle())
            .sorted(Comparator.comparingLong(TenantBox::usedAt))
            .toList();
    for (TenantBox box : idle) {
      if (box.mayEndIdle() && box.ending().begin()) {
        endings.end(box, Duration.ZERO, EndedBy.PRESSURE);
        box.ending().finish();
        ended++;
      }
      if (enough.getAsBoolean()) {
        break;
      }
    }
    return ended;
  }

  /** Forgets boxes that are gone, the oldest first. */
  int forgetGone(BooleanSupplier enough) {
    int forgotten = 0;
    for (EndedBox box : gone()) {
      endings.forget(box);
      forgotten++;
      if (forgotten % FORGOTTEN_A_LOOK == 0 && enough.getAsBoolean()) {
        break;
      }
    }
    return forgotten;
  }
}
