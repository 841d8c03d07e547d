package dev.ebb.torture;

import dev.ebb.torture.host.Target;
import java.time.Duration;
import java.util.Locale;

/**
 * One kill, or another fault, at a random moment.
 *
 * @param after how long to wait for it
 * @param choice selects one of the targets that exist then
 */
record Stroke(Duration after, Target target, int choice) {
  /** The target of the kill, or another fault of the daemon. */
  enum Target {
    /** Pid 1 of a box. */
    INIT,
    /** The process that makes a box with bwrap: {@code ebb-init outside}, or bwrap. */
    WRAPPER,
    /** The forkserver; bwrap makes the boxes for a while then. */
    FORKSERVER,
    DAEMON,
    /** The daemon does not run for a while. */
    STOPPED_DAEMON,
    /** The daemon is killed, and the log of the next one is not read. */
    BLOCKED_LOG,
    /** More connections than the daemon accepts, which send nothing. */
    SILENT_CONNECTIONS,
    /** A cell sends sockets that are slow to close. */
    HOSTILE_DESCRIPTORS,
    /** The longest names, labels, commands and inputs. */
    GIANT_VALUES,
    /** Another daemon, on a file system that fills and empties. */
    FLAPPING_DISK;

    String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
