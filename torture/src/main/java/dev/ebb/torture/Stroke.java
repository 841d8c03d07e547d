package dev.ebb.torture;

import dev.ebb.torture.host.Target;
import java.time.Duration;
import java.util.Locale;

/**
 * One kill, or another fault, at a random moment.
 *
 * @param after how long to wait for it
 * @param choice which of those that there are then
 */
record Stroke(Duration after, Target target, int choice) {
  /** What is killed, or what else befalls the daemon. */
  enum Target {
    /** Pid 1 of a box. */
    INIT,
    /** Whoever makes a box with bwrap: {@code ebb-init outside}, or bwrap. */
    WRAPPER,
    /** Whoever clones boxes; bwrap makes them for a while then. */
    NURSERY,
    DAEMON,
    /** The daemon does not run for a while. */
    STOPPED_DAEMON,
    /** The daemon is killed, and nobody reads the log of the next one. */
    BLOCKED_LOG,
    /** More connections than the daemon takes, which say nothing. */
    SILENT_CONNECTIONS,
    /** A cell sends sockets that are slow to close. */
    HOSTILE_DESCRIPTORS,
    /** The longest names, labels, commands and inputs. */
    GIANT_VALUES,
    /** Another daemon, on a file system that fills and empties. */
    FLAPPING_DISK;

    String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
