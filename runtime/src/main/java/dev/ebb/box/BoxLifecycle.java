package dev.ebb.box;

import static dev.ebb.box.BoxState.CREATING;
import static dev.ebb.box.BoxState.GONE;
import static dev.ebb.box.BoxState.LOST;
import static dev.ebb.box.BoxState.PAUSED;
import static dev.ebb.box.BoxState.RUNNING;
import static dev.ebb.box.BoxState.STOPPING;
import static dev.ebb.box.BoxState.STUCK;
import static dev.ebb.box.BoxState.UNREACHABLE;

import dev.ebb.kernel.KernelException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The one table of legal transitions, and the state of one box. Thread-safe. */
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
          GONE, EnumSet.noneOf(BoxState.class));

  private Consumer<BoxState> listener;
  private BoxState state;
  private boolean lost;

  /** {@code listener} hears of each change, in order; it must not wait for anything. */
  BoxLifecycle(Consumer<BoxState> listener) {
    this(listener, CREATING);
  }

  private BoxLifecycle(Consumer<BoxState> listener, BoxState first) {
    this.listener = listener;
    state = first;
    lost = first == LOST;
  }

  /** Of a box that is found as it is; nobody hears of it yet. */
  static BoxLifecycle found(BoxState state) {
    return new BoxLifecycle(_ -> {}, state);
  }

  /** From now on {@code heir} hears of each change; returned is where it is now. */
  synchronized BoxState listen(Consumer<BoxState> heir) {
    listener = heir;
    return state;
  }

  /** The same, and it hears of the state it is in first. */
  synchronized void handTo(Consumer<BoxState> heir) {
    listener = heir;
    heir.accept(state);
  }

  synchronized BoxState state() {
    return state;
  }

  /** It died by itself, whatever became of it since. */
  synchronized boolean wasLost() {
    return lost;
  }

  synchronized void become(BoxState next) {
    if (!tryBecome(next)) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "a box that is " + state.word() + " cannot become " + next.word());
    }
  }

  /** False when it cannot, from where it is. */
  synchronized boolean tryBecome(BoxState next) {
    if (!LEGAL.getOrDefault(state, Set.of()).contains(next)) {
      return false;
    }
    state = next;
    lost |= next == LOST;
    listener.accept(next);
    return true;
  }

  /** Does what is quick, and what must be done before a running box ends or not at all. */
  synchronized <T> T whileRunning(BoxId id, KernelCall<T> call) throws KernelException {
    requireRunning(id);
    return call.run();
  }

  synchronized void requireRunning(BoxId id) {
    if (state != RUNNING) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "box " + id + " is not running but " + state.word());
    }
  }

  /** Its init can be talked to. */
  synchronized void requireUp(BoxId id) {
    if (state != PAUSED) {
      requireRunning(id);
    }
  }

  /** Does what is quick while the box cannot end; nothing if its end has begun. */
  synchronized void ifUp(KernelAction action) throws KernelException {
    if (state.isAlive()) {
      action.run();
    }
  }

  interface KernelCall<T> {
    T run() throws KernelException;
  }

  interface KernelAction {
    void run() throws KernelException;
  }
}
