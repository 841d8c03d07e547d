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
 * Starts the commands of a box: most of them concurrently under the limits of the box, those of an
 * operator in a separate lane.
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

  /** Makes the leaf of one exec; empty where there are no leaves. */
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

  /** RACE: a leaf made during the release of the box would appear after its absence was proven. */
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

  /** Counts a start that was sent to init, or that init has answered. */
  public void startPending(boolean isPending) {
    pending.addAndGet(isPending ? 1 : -1);
  }

  /** Runs an action while no command is being started. */
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
      throw new KernelException("reach the init of box " + id, Errno.EAGAIN);
    }
  }

  /** Makes the leaf of an operator's exec and moves init there. */
  private Optional<Path> enter(int exec) throws KernelException {
    // ORDER: a command whose start was sent to init earlier is cloned into its own cgroup.
    awaitStarts();
    if (!backend.has(Capability.LEAVES)) {
      // Init allows more commands to an operator.
      return lifecycle.whileRunning(id, Optional::empty);
    }
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
   * Moves init back, unless it has ended with the box.
   *
   * <p>RACE: a pid is only a number. Init is reaped, and its number free, only after the end began.
   */
  private void leave() throws KernelException {
    try {
      moveInitBack();
    } catch (KernelException e) {
      // Children of init start in the cgroup of init.
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

  /** Notes whether {@code listed} names the lane: then it may exist. */
  void takeOver(List<Holding> listed) {
    isHeld =
        listed.stream()
            .map(Holding::subject)
            .anyMatch(
                subject ->
                    enclosure.leaves().lanePaths().stream()
                        .anyMatch(p -> p.toString().equals(subject)));
  }

  /** Moves init back, in case its engine died during an operator's start. */
  void takeBack(int initPid) throws KernelException {
    if (isHeld) {
      enclosure.leaves().moveInit(initPid, false);
    }
  }
}
