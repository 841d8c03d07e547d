package dev.ebb.torture;

import dev.ebb.torture.host.Target;
import java.time.Duration;
import java.util.Locale;

/**
 * One kill at a random moment.
 *
 * @param after how long to wait for it
 * @param choice which of those that there are then
 */
record Stroke(Duration after, Target target, int choice) {
  /** Who is killed. */
  enum Target {
    /** Pid 1 of a box. */
    INIT,
    /** Whoever makes a box with bwrap: {@code ebb-init outside}, or bwrap. */
    WRAPPER,
    /** Whoever clones boxes; bwrap makes them for a while then. */
    NURSERY,
    DAEMON;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
