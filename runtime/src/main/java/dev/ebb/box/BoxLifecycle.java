package dev.ebb.box;

import static dev.ebb.box.BoxState.CREATING;
import static dev.ebb.box.BoxState.GONE;
import static dev.ebb.box.BoxState.LOST;
import static dev.ebb.box.BoxState.PAUSED;
import static dev.ebb.box.BoxState.RUNNING;
import static dev.ebb.box.BoxState.STOPPING;
import static dev.ebb.box.BoxState.STUCK;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** The one table of legal transitions, and the state of one box. Thread-safe. */
final class BoxLifecycle {
  private static final Map<BoxState, Set<BoxState>> LEGAL =
      Map.of(
          CREATING, EnumSet.of(RUNNING, STOPPING),
          RUNNING, EnumSet.of(PAUSED, STOPPING, LOST),
          PAUSED, EnumSet.of(RUNNING, STOPPING, LOST),
          LOST, EnumSet.of(STOPPING),
          STOPPING, EnumSet.of(GONE, STUCK),
          STUCK, EnumSet.of(STOPPING),
          GONE, EnumSet.noneOf(BoxState.class));

  private BoxState state = CREATING;

  synchronized BoxState state() {
    return state;
  }

  synchronized void become(BoxState next) {
    if (!LEGAL.getOrDefault(state, Set.of()).contains(next)) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "a box that is " + state + " cannot become " + next);
    }
    state = next;
  }
}
