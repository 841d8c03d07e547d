package dev.ebb.box;

import dev.ebb.model.BoxId;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts and logs processes from outside that were moved into a cgroup of a box and killed with it.
 * Thread-safe.
 */
public final class Strangers {
  private static final Logger LOG = System.getLogger(Strangers.class.getName());

  private final AtomicLong killed = new AtomicLong();

  /** Those that were reported and are not gone yet. */
  private final Set<ProcessRef> told = ConcurrentHashMap.newKeySet();

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
   * Looks for some among the members of a cgroup that is about to be killed; each is reported once,
   * however often its kill is repeated.
   *
   * <p>KERNEL: what a box starts is in a pid namespace below ours, for good.
   *
   * @param box whose cgroup it is
   * @return those that were not reported before
   */
  public List<ProcessRef> lookAmong(Collection<Integer> members, String box) {
    List<ProcessRef> strangers = find(members);
    if (!strangers.isEmpty()) {
      killed.incrementAndGet();
      LOG.log(
          Level.WARNING,
          "event=stranger_killed box={0} pids={1} reason=\"in the cgroup of the box\"",
          box,
          strangers.stream().map(ProcessRef::pid).toList().toString());
    }
    return strangers;
  }

  /** The engine kills the members of the leaf of a command itself, without its init. */
  void lookInLeaf(Collection<Integer> members, BoxId box, int exec) {
    if (!find(members).isEmpty()) {
      killedWith(box, exec);
    }
  }

  /** RACE: of a member that has just been reaped no namespace can be read. */
  private List<ProcessRef> find(Collection<Integer> members) {
    told.removeIf(process -> !process.exists());
    return members.stream()
        .map(ProcessRef::of)
        .flatMap(Optional::stream)
        .filter(process -> ProcFs.depth(process.pid()) == 0 && process.exists())
        .filter(told::add)
        .toList();
  }
}
