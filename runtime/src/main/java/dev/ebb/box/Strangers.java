package dev.ebb.box;

import dev.ebb.process.ProcFs;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts and tells of processes from outside that somebody put into a cgroup of a box, and that
 * were killed with it. Thread-safe.
 */
public final class Strangers {
  private static final Logger LOG = System.getLogger(Strangers.class.getName());

  private final AtomicLong killed = new AtomicLong();

  public Strangers() {}

  /** In how many commands and boxes there were any. */
  public long count() {
    return killed.get();
  }

  /** Some were in the leaf of a command, and its end was theirs. */
  public void killedWith(BoxId box, int exec) {
    killed.incrementAndGet();
    LOG.log(
        Level.WARNING,
        "event=stranger_killed box={0} exec={1} reason=\"in the cgroup of the command\"",
        box,
        exec);
  }

  /**
   * Looks for some among the members of a box that is about to be killed.
   *
   * <p>KERNEL: what a box starts is in a pid namespace below ours, for good.
   */
  void lookAmong(Collection<Integer> members, BoxId box) {
    var strangers = members.stream().filter(pid -> ProcFs.depth(pid) == 0).toList();
    if (!strangers.isEmpty()) {
      killed.incrementAndGet();
      LOG.log(
          Level.WARNING,
          "event=stranger_killed box={0} pids={1} reason=\"in the cgroup of the box\"",
          box,
          strangers.toString());
    }
  }
}
