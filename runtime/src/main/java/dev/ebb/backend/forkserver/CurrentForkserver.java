package dev.ebb.backend.forkserver;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.backend.BackendHost;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.Launch;
import dev.ebb.backend.LaunchOrder;
import dev.ebb.backend.ZygotePolicy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Keeps one forkserver, or one zygote, of the wanted kind running.
 *
 * <p>A forkserver that dies, or that the host refuses, is replaced after a pause. Thread-safe.
 */
final class CurrentForkserver {
  private static final Logger LOG = System.getLogger(CurrentForkserver.class.getName());
  private static final String REMEDY =
      "see what is degraded above; it needs user namespaces in user namespaces";
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);
  private static final Duration FOR_EVER = Duration.ofDays(36_500);

  private final BackendHost host;
  private final Path bwrap;
  private final String name;
  private final OrderedLock lock = new OrderedLock(LockOrder.FORKSERVER_START);

  @GuardedBy("lock")
  private Optional<ZygotePolicy> zygote;

  /** The current process, or an earlier one that could not be ended yet. */
  @GuardedBy("lock")
  private @Nullable ForkserverProcess process;

  @GuardedBy("lock")
  private @Nullable Forkserver forkserver;

  /** RACE: read without the lock, which is held while a process starts. */
  private volatile boolean isReady;

  @GuardedBy("lock")
  private @Nullable String refusal;

  @GuardedBy("lock")
  private Deadline pause = Deadline.in(Duration.ZERO);

  @GuardedBy("lock")
  private Duration nextPause = FIRST_PAUSE;

  /** For the current process: until when it makes boxes, and how many more. */
  @GuardedBy("lock")
  private Deadline age = Deadline.in(Duration.ZERO);

  @GuardedBy("lock")
  private long left;

  CurrentForkserver(BackendHost host, Path bwrap, String name, Optional<ZygotePolicy> zygote) {
    this.host = host;
    this.bwrap = bwrap;
    this.name = name;
    this.zygote = zygote;
  }

  /** Why no process exists although one was wanted. */
  Optional<HostLack> lack() {
    lock.lock();
    try {
      return Optional.ofNullable(refusal).map(each -> new HostLack(each, REMEDY));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Begins to make a box.
   *
   * @param isWanted whether to start a process if there is none
   * @return false if there is no process now
   */
  boolean launch(LaunchOrder order, boolean isWanted, Launch.Begun begun)
      throws KernelException, Launch.MakerLostException, InterruptedException {
    Optional<Forkserver> current = next(isWanted);
    if (current.isEmpty()) {
      return false;
    }
    try {
      current.get().launch(order, this::lost, begun);
      return true;
    } catch (Launch.MakerLostException e) {
      lost(current.get(), String.valueOf(e.getMessage()));
      throw e;
    }
  }

  /**
   * Returns the process that makes the next box, started if {@code isWanted}; empty: use another
   * backend.
   */
  private Optional<Forkserver> next(boolean isWanted) throws InterruptedException {
    lock.lock();
    try {
      dropUseless();
      if (forkserver == null && isWanted && pause.isOver()) {
        start();
      }
      left--;
      isReady = forkserver != null && !isSpent();
      return Optional.ofNullable(forkserver);
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void dropUseless() throws InterruptedException {
    if (forkserver != null && forkserver.isLost()) {
      lose("the " + name + " is gone");
    }
    if (forkserver != null && (forkserver.isOutdated() || isSpent())) {
      drop();
    }
  }

  @GuardedBy("lock")
  private void drop() {
    isReady = false;
    forkserver = null;
  }

  /** Starts a process if there is none that can make more boxes. */
  void prepare() throws InterruptedException {
    lock.lock();
    try {
      dropUseless();
      if (forkserver == null && pause.isOver()) {
        start();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether a process runs that can make another box; never waits for one to start. */
  boolean isReady() {
    return isReady;
  }

  /**
   * Ends the process until a box needs one again. Boxes that it made live on. If it could not be
   * ended, the next start or the close ends it.
   */
  void rest() throws KernelException {
    endBut(Optional.empty(), false);
  }

  /** Ends the process, and starts this zygote when a box needs one. */
  void replace(ZygotePolicy wanted) throws KernelException {
    endBut(Optional.of(wanted), false);
  }

  /** Ends the process, and starts no other. Boxes that it made live on. */
  void close() throws KernelException {
    endBut(Optional.empty(), true);
  }

  private void endBut(Optional<ZygotePolicy> next, boolean isLast) throws KernelException {
    boolean interrupted = Thread.interrupted();
    lock.lock();
    try {
      drop();
      if (next.isPresent()) {
        zygote = next;
        refusal = null;
        nextPause = FIRST_PAUSE;
      }
      if (next.isPresent() || isLast) {
        pause = Deadline.in(isLast ? FOR_EVER : Duration.ZERO);
      }
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

  /**
   * Bounds the number and age of copies: they share memory content, see docs/adr/0008-zygote.md.
   */
  @GuardedBy("lock")
  private boolean isSpent() {
    return zygote.isPresent() && (age.isOver() || left <= 0);
  }

  @GuardedBy("lock")
  private void start() throws InterruptedException {
    try {
      end();
      process = new ForkserverProcess(host, bwrap, name, zygote.map(ZygotePolicy::zygote));
      Forkserver started = process.start();
      forkserver = started;
      started.whenLost(() -> endAside(started));
      zygote.ifPresent(policy -> age = Deadline.in(policy.age()));
      left = zygote.map(ZygotePolicy::count).orElse(0);
      refusal = null;
      isReady = true;
      nextPause = FIRST_PAUSE;
    } catch (KernelException | Launch.SetupException e) {
      lose(String.valueOf(e.getMessage()));
    }
  }

  /**
   * Releases a dead process at once, not with the next box: its zombie, cgroup and ledger lines.
   */
  private void endAside(Forkserver which) {
    Thread.ofVirtual()
        .name("ebb-forkserver-end")
        .start(
            () -> {
              try {
                lost(which, "the " + name + " is gone");
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  /** Handles a process that died while making a box, or did not answer. */
  void lost(Forkserver which, String reason) throws InterruptedException {
    lock.lock();
    try {
      if (which.equals(forkserver)) {
        lose(reason);
      }
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void lose(String reason) throws InterruptedException {
    boolean isKnown = reason.equals(refusal);
    drop();
    refusal = reason;
    pause = Deadline.in(nextPause);
    LOG.log(
        isKnown ? Level.DEBUG : Level.WARNING,
        "event={0}_lost instance={1} reason=\"{2}\" another_makes_boxes_for={3}",
        name,
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
      LOG.log(Level.WARNING, "event=forkserver_not_ended, trying again", e);
    }
  }

  @GuardedBy("lock")
  private void end() throws KernelException, InterruptedException {
    if (process != null) {
      process.end();
      process = null;
    }
  }
}
