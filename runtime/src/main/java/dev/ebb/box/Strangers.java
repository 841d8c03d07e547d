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

  /** The processes that were reported and are not gone yet. */
  private final Set<ProcessRef> reported = ConcurrentHashMap.newKeySet();

  public Strangers() {}

  /** The number of commands and boxes in which there were any. */
  public long count() {
    return killed.get();
  }

  /** Notes that some were in the leaf of a command and were killed with it. */
  public void killedWith(BoxId box, int exec) {
    killed.incrementAndGet();
    LOG.log(
        Level.WARNING,
        "event=stranger_killed box={0} exec={1} reason=\"in the cgroup of the command\"",
        box,
        exec);
  }

  /**
   * Looks for processes from outside among the members of a cgroup that is about to be killed. Each
   * is reported once, however often the kill is repeated.
   *
   * <p>KERNEL: a process that a box starts stays in a pid namespace below ours.
   *
   * @param box the owner of the cgroup
   * @return the processes that were not reported before
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

  /** Looks before the engine kills the members of a leaf itself, without init. */
  void lookInLeaf(Collection<Integer> members, BoxId box, int exec) {
    if (!find(members).isEmpty()) {
      killedWith(box, exec);
    }
  }

  /**
   * RACE: the namespace of a member that has just been reaped cannot be read, and its pid may be
   * that of another process. So a process counts as foreign only if it was foreign before its start
   * time was read, and after.
   */
  private List<ProcessRef> find(Collection<Integer> members) {
    reported.removeIf(process -> !process.exists());
    return members.stream()
        .filter(pid -> ProcFs.depth(pid) == 0)
        .map(ProcessRef::of)
        .flatMap(Optional::stream)
        .filter(process -> ProcFs.depth(process.pid()) == 0 && process.exists())
        .filter(reported::add)
        .toList();
  }
}
