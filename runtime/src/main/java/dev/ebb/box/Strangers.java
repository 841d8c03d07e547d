package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.process.ProcFs;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts and logs processes from outside that were moved into a cgroup of a box and killed with it.
 * Thread-safe.
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
   * Looks for some among the members of a cgroup that is about to be killed.
   *
   * <p>KERNEL: what a box starts is in a pid namespace below ours, for good.
   *
   * @param box whose cgroup it is
   */
  public void lookAmong(Collection<Integer> members, String box) {
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
