package dev.ebb.box;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.SandboxSpec;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.bubblewrap.Launch;
import dev.ebb.backend.bubblewrap.Nursery;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Who makes the boxes of an engine: the nursery what it can, bwrap all else.
 *
 * <p>A nursery is started when it first pays. One that dies, or that the host refuses, is followed
 * by another after a while, and meanwhile bwrap makes every box. Thread-safe.
 */
public final class Makers {
  private static final Logger LOG = System.getLogger(Makers.class.getName());
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);

  private final Bubblewrap bubblewrap;
  private final Policy policy;
  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private int asked;

  /** The one there is, or one that could not be ended yet. */
  @GuardedBy("lock")
  private @Nullable TendedNursery tended;

  @GuardedBy("lock")
  private @Nullable Nursery nursery;

  @GuardedBy("lock")
  private @Nullable String refusal;

  @GuardedBy("lock")
  private Deadline pause = Deadline.in(Duration.ZERO);

  @GuardedBy("lock")
  private Duration nextPause = FIRST_PAUSE;

  /** When the nursery makes a box that it can make. */
  public enum Policy {
    NEVER,
    /** Who makes one box and ends need not pay for it. */
    FROM_THE_SECOND_BOX,
    ALWAYS;

    /** Names another policy, for tests that compare. */
    private static final String OVERRIDE = "ebb.maker";

    /** This one, unless a test wants otherwise. */
    public Policy orOverride() {
      return switch (System.getProperty(OVERRIDE, "")) {
        case "bwrap" -> NEVER;
        case "nursery" -> ALWAYS;
        default -> this;
      };
    }
  }

  public Makers(Bubblewrap bubblewrap, Policy policy) {
    this.bubblewrap = bubblewrap;
    this.policy = policy;
  }

  Bubblewrap bubblewrap() {
    return bubblewrap;
  }

  /** Why there is no nursery, if one was wanted and is not there. */
  public Optional<String> refusal() {
    lock.lock();
    try {
      return Optional.ofNullable(refusal);
    } finally {
      lock.unlock();
    }
  }

  /** The nursery that shall make such a box; empty: bwrap shall. */
  Optional<Nursery> nursery(BoxHost host, SandboxSpec spec) throws InterruptedException {
    if (policy == Policy.NEVER || !Nursery.canMake(spec)) {
      return Optional.empty();
    }
    lock.lock();
    try {
      boolean isWanted = ++asked > 1 || policy == Policy.ALWAYS;
      if (nursery != null && nursery.isLost()) {
        lose(host, "the nursery is gone");
      }
      if (nursery != null && nursery.isOutdated()) {
        nursery = null;
      }
      if (nursery == null && isWanted && pause.isOver()) {
        start(host);
      }
      return Optional.ofNullable(nursery);
    } finally {
      lock.unlock();
    }
  }

  /** Has the nursery started that {@link #nursery} would start for the first box. */
  public void prepare(BoxHost host) throws InterruptedException {
    lock.lock();
    try {
      if (policy == Policy.ALWAYS && nursery == null && pause.isOver()) {
        start(host);
      }
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void start(BoxHost host) throws InterruptedException {
    try {
      end();
      tended = new TendedNursery(host);
      nursery = tended.start();
      refusal = null;
      nextPause = FIRST_PAUSE;
    } catch (KernelException | Launch.SetupException | SandboxException e) {
      lose(host, String.valueOf(e.getMessage()));
    }
  }

  /** It died over a box, or would not answer. */
  void lost(BoxHost host, Nursery which, String reason) throws InterruptedException {
    lock.lock();
    try {
      if (which.equals(nursery)) {
        lose(host, reason);
      }
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void lose(BoxHost host, String reason) throws InterruptedException {
    nursery = null;
    refusal = reason;
    pause = Deadline.in(nextPause);
    LOG.log(
        Level.WARNING,
        "event=nursery_lost instance={0} reason=\"{1}\" bwrap_makes_boxes_for={2}",
        host.instance().id(),
        reason,
        nextPause);
    nextPause = nextPause.multipliedBy(2);
    if (nextPause.compareTo(LONGEST_PAUSE) > 0) {
      nextPause = LONGEST_PAUSE;
    }
    try {
      end();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=nursery_not_ended, trying again", e);
    }
  }

  @GuardedBy("lock")
  private void end() throws KernelException, InterruptedException {
    if (tended != null) {
      tended.end();
      tended = null;
    }
  }

  /** Ends the nursery; no box is made any more. Boxes that it made live on. */
  public void close() throws KernelException {
    boolean interrupted = Thread.interrupted();
    lock.lock();
    try {
      nursery = null;
      pause = Deadline.in(Duration.ofDays(36_500));
      end();
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
