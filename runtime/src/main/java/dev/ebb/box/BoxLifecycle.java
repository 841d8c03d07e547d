package dev.ebb.box;

import static dev.ebb.model.BoxState.CREATING;
import static dev.ebb.model.BoxState.GONE;
import static dev.ebb.model.BoxState.LOST;
import static dev.ebb.model.BoxState.PAUSED;
import static dev.ebb.model.BoxState.RUNNING;
import static dev.ebb.model.BoxState.STOPPING;
import static dev.ebb.model.BoxState.STUCK;
import static dev.ebb.model.BoxState.UNREACHABLE;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The state of one box, and the only table of legal transitions. Thread-safe. */
final class BoxLifecycle {
  private static final Map<BoxState, Set<BoxState>> LEGAL =
      Map.of(
          CREATING, EnumSet.of(RUNNING, STOPPING),
          RUNNING, EnumSet.of(PAUSED, STOPPING, LOST),
          PAUSED, EnumSet.of(RUNNING, STOPPING, LOST),
          LOST, EnumSet.of(STOPPING),
          UNREACHABLE, EnumSet.of(STOPPING, GONE),
          STOPPING, EnumSet.of(GONE, STUCK),
          STUCK, EnumSet.of(STOPPING),
          // The kept output of a stopped box may prove impossible to delete.
          GONE, EnumSet.of(STUCK));

  private final OrderedLock lock = new OrderedLock(LockOrder.BOX_STATE);

  @GuardedBy("lock")
  private Consumer<BoxState> listener;

  @GuardedBy("lock")
  private BoxState state;

  @GuardedBy("lock")
  private boolean lost;

  /**
   * Calls {@code listener} for each change, in order, under the lock: the listener takes no lock
   * but those below it in {@link LockOrder}, and does not wait.
   */
  BoxLifecycle(Consumer<BoxState> listener) {
    this(listener, CREATING);
  }

  private BoxLifecycle(Consumer<BoxState> listener, BoxState first) {
    this.listener = listener;
    state = first;
    lost = first == LOST;
  }

  /** The lifecycle of a box that exists already; it has no listener yet. */
  static BoxLifecycle found(BoxState state) {
    return new BoxLifecycle(_ -> {}, state);
  }

  /** Calls {@code heir} for each change from now on; returns the current state. */
  BoxState listen(Consumer<BoxState> heir) {
    lock.lock();
    try {
      listener = heir;
      return state;
    } finally {
      lock.unlock();
    }
  }

  /** Calls {@code heir} for each change from now on, and first for the current state. */
  void handTo(Consumer<BoxState> heir) {
    lock.lock();
    try {
      listener = heir;
      heir.accept(state);
    } finally {
      lock.unlock();
    }
  }

  BoxState state() {
    lock.lock();
    try {
      return state;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether the box died by itself, whatever happened since. */
  boolean wasLost() {
    lock.lock();
    try {
      return lost;
    } finally {
      lock.unlock();
    }
  }

  void become(BoxState next) {
    lock.lock();
    try {
      if (!tryBecome(next)) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE,
            "a box that is " + state.wireName() + " cannot become " + next.wireName());
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns false if the current state does not allow the transition. */
  boolean tryBecome(BoxState next) {
    lock.lock();
    try {
      if (!LEGAL.getOrDefault(state, Set.of()).contains(next)) {
        return false;
      }
      state = next;
      lost |= next == LOST;
      listener.accept(next);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Runs a short call, which happens before a running box ends or not at all. */
  <T> T whileRunning(BoxId id, KernelCall<T> call) throws KernelException {
    lock.lock();
    try {
      requireRunning(id);
      return call.run();
    } finally {
      lock.unlock();
    }
  }

  void requireRunning(BoxId id) {
    lock.lock();
    try {
      if (state != RUNNING) {
        throw new SandboxException(
            ErrorCode.WRONG_STATE, "box " + id + " is not running but " + state.wireName());
      }
    } finally {
      lock.unlock();
    }
  }

  /** Fails unless init can be reached. */
  void requireUp(BoxId id) {
    lock.lock();
    try {
      if (state != PAUSED) {
        requireRunning(id);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Runs a short action while the box cannot end; no-op if its end has begun. */
  void ifUp(KernelAction action) throws KernelException {
    lock.lock();
    try {
      if (state.isAlive()) {
        action.run();
      }
    } finally {
      lock.unlock();
    }
  }

  interface KernelCall<T> {
    T run() throws KernelException;
  }

  interface KernelAction {
    void run() throws KernelException;
  }
}
