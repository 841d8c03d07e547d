package dev.ebb.box;

import static java.util.Objects.requireNonNull;

import dev.ebb.backend.Launch;
import dev.ebb.backend.Sandbox;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The init of a box, its sandbox, and the process <em>outside</em> that makes it: finds, kills and
 * reaps them.
 *
 * <p>Any thread may use the sandbox. Everything else belongs to the thread that makes or adopts the
 * box, and to its release.
 */
final class InitProcess {
  private static final Duration REAPED_BOUND = Duration.ofSeconds(5);
  private static final Duration RETRY = Duration.ofMillis(1);

  private final BoxId id;
  private final BoxHost host;
  private final Enclosure enclosure;
  private final BoxLifecycle lifecycle;
  private @Nullable Launch launch;
  private volatile @Nullable Sandbox sandbox;
  private @Nullable ProcessRef found;

  /** Set once each was observed dead; its descriptor may be closed by then. */
  private boolean outsideGone;

  private boolean gone;

  InitProcess(BoxId id, BoxHost host, Enclosure enclosure, BoxLifecycle lifecycle) {
    this.id = id;
    this.host = host;
    this.enclosure = enclosure;
    this.lifecycle = lifecycle;
  }

  // --- its beginning ---

  void launched(Launch begun) {
    launch = begun;
    sandbox = begun.sandbox();
  }

  Launch launch() {
    return requireNonNull(launch);
  }

  /** Forgets an attempt to make the box that failed and left nothing; another one may follow. */
  void launchFailed() {
    launch = null;
    sandbox = null;
  }

  /** Takes over the init of a box that another engine made. */
  void found(ProcessRef init) {
    found = init;
  }

  void connected(Sandbox up) {
    sandbox = up;
  }

  /** Opens an init that another engine started. */
  Pidfd open(Scope scope, ProcessRef process) throws KernelException {
    Pidfd pidfd = Pidfd.open(scope, process.pid());
    // RACE: the number may have been reused before the pidfd was opened, not after.
    if (!process.isAlive()) {
      throw new KernelException("find the init of box " + id, Errno.ESRCH);
    }
    return pidfd;
  }

  // --- its life ---

  /** Returns the sandbox; throws once the end of the box has begun. */
  Sandbox sandbox() {
    lifecycle.requireUp(id);
    return requireNonNull(sandbox);
  }

  /** Returns the sandbox in any state; empty if it never was launched. */
  Optional<Sandbox> anySandbox() {
    return Optional.ofNullable(sandbox);
  }

  /** Returns the host pid; throws once the end of the box has begun. */
  int pid() {
    return sandbox().init().orElseThrow().pid();
  }

  /** Makes the box lost when init ends. */
  void watch() {
    requireNonNull(sandbox).whenClosed(() -> lifecycle.tryBecome(BoxState.LOST));
  }

  /** Returns whether init was started and has not sent HELLO. */
  boolean isStarting() {
    return launch != null && !launch.isUp();
  }

  /** Returns whether init came up and was not observed dead. */
  boolean isThere() {
    return !gone && (launch == null ? sandbox != null : launch.isUp());
  }

  /**
   * SAFETY: an init that this engine started keeps its pid until reaped; an adopted one has a ref.
   */
  boolean isAlive() {
    if (!isThere()) {
      return false;
    }
    int pid = pidfd().pid();
    return found == null
        ? ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isPresent()
        : found.isAlive();
  }

  /** SAFETY: no other process can have this pid, since init is our child and not reaped. */
  OptionalInt childPid() {
    return found == null && isThere() ? OptionalInt.of(pidfd().pid()) : OptionalInt.empty();
  }

  private Pidfd pidfd() {
    return requireNonNull(sandbox).init().orElseThrow();
  }

  // --- its end ---

  void endOutside(ReleaseTally tally) throws KernelException, InterruptedException {
    if (!isStarting() || outsideGone || launch().outside().isEmpty()) {
      return;
    }
    Pidfd outside = launch().outside().get();
    tally.held(Kind.PROCESS, 1);
    Step.END_OUTSIDE.reach();
    outside.signal(Signal.KILL);
    if (awaitDeath(outside)) {
      outsideGone = true;
      tally.released(Kind.PROCESS, 1);
    } else {
      tally.stuck(Kind.PROCESS, Integer.toString(outside.pid()), "outlived SIGKILL");
    }
  }

  /**
   * Finds an init that was cloned and not announced yet.
   *
   * <p>ORDER: its maker is dead or called off, but the maker's last messages may be unread.
   */
  void learn(Deadline deadline) throws KernelException, InterruptedException {
    if (!launch().callOff(deadline)) {
      throw new KernelException("read all messages of the maker of the box", Errno.EBUSY);
    }
    launch().sandbox().init().ifPresent(enclosure::known);
  }

  /** Kills it in any cgroup. KERNEL: its death ends all of its pid namespace. */
  void kill() throws KernelException {
    if (!isThere()) {
      return;
    }
    try {
      pidfd().signal(Signal.KILL);
    } catch (KernelException e) {
      if (!e.is(Errno.ESRCH) && !e.is(Errno.EBADF)) {
        throw e;
      }
    }
  }

  /**
   * Returns whether init came up and is gone now.
   *
   * <p>KERNEL: pid 1 of a namespace becomes reapable only after all its members were reaped.
   */
  boolean reap() throws KernelException, InterruptedException {
    if (!isThere()) {
      return false;
    }
    kill();
    gone = awaitDeath(pidfd());
    return gone;
  }

  /** Waits for its death and reaps it; returns false on a timeout. */
  private boolean awaitDeath(Pidfd process) throws KernelException, InterruptedException {
    try (var brief = new Scope()) {
      var dead = new Readiness(brief, host.poller(), process.fd(), Poller.Interest.READ);
      if (!host.patience().await(host.patience().death(), dead::awaitSurely)) {
        return false;
      }
      process.reap();
      return true;
    } catch (KernelException e) {
      if (e.is(Errno.ECHILD)) {
        return awaitReaped(process.pid());
      }
      throw e;
    }
  }

  /** Waits for a process that is no child of this one: only its parent can reap it. */
  private boolean awaitReaped(int pid) {
    return Deadline.in(REAPED_BOUND)
        .until(RETRY, () -> ProcFs.stat(pid).isEmpty() || !enclosure.holds(pid));
  }
}
