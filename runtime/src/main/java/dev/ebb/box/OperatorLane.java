package dev.ebb.box;

import dev.ebb.backend.Capability;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedReadWriteLock;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where commands of a box are started: most beside each other under the limits of the box, those of
 * an operator in a lane of their own.
 *
 * <p>A command starts in the cgroup of init. So init moves into the lane for an operator's start,
 * and no other command starts meanwhile. Thread-safe.
 */
public final class OperatorLane {
  private static final Logger LOG = System.getLogger(OperatorLane.class.getName());
  private static final Duration START_BOUND = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofMillis(1);

  private final BoxId id;
  private final Enclosure enclosure;
  private final BoxLifecycle lifecycle;
  private final BoxHoldings holdings;
  private final BoxBackend backend;
  private final InitProcess init;

  /** Shared by all starts, exclusive for an operator's and for a pause. */
  private final OrderedReadWriteLock starting = new OrderedReadWriteLock(LockOrder.BOX_STARTING);

  /** Starts that were sent to init and that init has not answered. */
  private final AtomicInteger pending = new AtomicInteger();

  /** Written under the lock of the lifecycle. */
  private boolean isHeld;

  OperatorLane(
      BoxId id,
      Enclosure enclosure,
      BoxLifecycle lifecycle,
      BoxHoldings holdings,
      BoxBackend backend,
      InitProcess init) {
    this.id = id;
    this.enclosure = enclosure;
    this.lifecycle = lifecycle;
    this.holdings = holdings;
    this.backend = backend;
    this.init = init;
  }

  /** Makes the place of one exec; empty where there is none. */
  public interface Places {
    Optional<Path> leaf(int exec) throws KernelException;
  }

  /** The start of one command. */
  public interface Start<T> {
    T in(Places places) throws KernelException;
  }

  /** Starts a command under the limits of the box. */
  public <T> T startBesideOthers(Start<T> start) throws KernelException {
    starting.readLock().lock();
    try {
      return start.in(this::createLeaf);
    } finally {
      starting.readLock().unlock();
    }
  }

  /** RACE: a leaf that is made under the release of the box would be where all is proven gone. */
  private Optional<Path> createLeaf(int exec) throws KernelException {
    return lifecycle.whileRunning(
        id,
        () ->
            backend.has(Capability.LEAVES)
                ? enclosure.leaves().create(exec, holdings.uid())
                : Optional.empty());
  }

  /** Starts an operator's command in the lane; {@code start} returns when init has started it. */
  public <T> T startInLane(Start<T> start) throws KernelException {
    starting.writeLock().lock();
    try {
      return startWithInit(start);
    } finally {
      starting.writeLock().unlock();
    }
  }

  private <T> T startWithInit(Start<T> start) throws KernelException {
    try {
      return start.in(this::enter);
    } finally {
      leave();
    }
  }

  /** A start was sent to init, or init has answered it. */
  public void startPending(boolean isPending) {
    pending.addAndGet(isPending ? 1 : -1);
  }

  /** Does something while no command is being started. */
  void whileNoneStarts(BoxLifecycle.KernelAction action) throws KernelException {
    starting.writeLock().lock();
    try {
      awaitStarts();
      action.run();
    } finally {
      starting.writeLock().unlock();
    }
  }

  /** Waits until init has answered every start; the caller keeps other starts out. */
  private void awaitStarts() throws KernelException {
    if (!Deadline.in(START_BOUND).until(RETRY, () -> pending.get() == 0)) {
      throw new KernelException("hear from the init of box " + id, Errno.EAGAIN);
    }
  }

  /** Makes the place of an operator's exec and moves init there. */
  private Optional<Path> enter(int exec) throws KernelException {
    // ORDER: a command that init was told to start earlier is cloned into its own cgroup.
    awaitStarts();
    return lifecycle.whileRunning(
        id,
        () -> {
          hold();
          Optional<Path> leaf = enclosure.leaves().createInLane(exec, holdings.uid());
          Step.ENTER_LANE.reach();
          enclosure.leaves().moveInit(init.pid(), true);
          return leaf;
        });
  }

  private void hold() throws KernelException {
    if (!isHeld) {
      var entries =
          enclosure.leaves().lanePaths().stream()
              .map(path -> new Ledger.Entry(Kind.CGROUP, path.toString()))
              .toList();
      Step.HOLD_LANE.reach();
      holdings.hold(entries);
      isHeld = true;
    }
  }

  /**
   * Moves init back, unless the box has ended and taken it along.
   *
   * <p>RACE: a pid is only a number. Init is reaped, and its number free, only after the end began.
   */
  private void leave() throws KernelException {
    try {
      moveInitBack();
    } catch (KernelException e) {
      // Its children start in its cgroup.
      LOG.log(Level.WARNING, "event=lane_not_left, trying again box=" + id, e);
      moveInitBack();
    }
  }

  private void moveInitBack() throws KernelException {
    lifecycle.ifUp(
        () -> {
          Step.LEAVE_LANE.reach();
          enclosure.leaves().moveInit(init.pid(), false);
        });
  }

  // --- of a box that another engine made ---

  /** Whether {@code listed} names the lane: then it may exist. */
  void takeOver(List<Holding> listed) {
    isHeld =
        listed.stream()
            .map(Holding::subject)
            .anyMatch(
                subject ->
                    enclosure.leaves().lanePaths().stream()
                        .anyMatch(p -> p.toString().equals(subject)));
  }

  /** Moves init back, should its engine have died in the middle of an operator's start. */
  void takeBack(int initPid) throws KernelException {
    if (isHeld) {
      enclosure.leaves().moveInit(initPid, false);
    }
  }
}
