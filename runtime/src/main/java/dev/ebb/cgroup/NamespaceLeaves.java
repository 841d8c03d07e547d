package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The execs of a box without cgroups, which have no place of their own. Their processes descend
 * from the subreaper of each exec; if init cannot end one, the box ends.
 */
final class NamespaceLeaves implements Leaves {
  private final BoxNamespace box;

  NamespaceLeaves(BoxNamespace box) {
    this.box = box;
  }

  @Override
  public Optional<Path> create(int exec, int uid) {
    return Optional.empty();
  }

  @Override
  public void find() {}

  @Override
  public int last() {
    return 0;
  }

  @Override
  public void abandon(int exec) {}

  @Override
  public List<Path> strays() {
    return List.of();
  }

  @Override
  public List<Path> lanePaths() {
    return List.of();
  }

  /** Returns empty: init gives an operator's exec higher limits. */
  @Override
  public Optional<Path> createInLane(int exec, int uid) {
    return Optional.empty();
  }

  @Override
  public void findInLane(int exec) {}

  @Override
  public void moveInit(int pid, boolean intoLane) {}

  @Override
  public void kill(int exec) throws KernelException {
    box.kill();
  }

  @Override
  public void end(int exec) throws KernelException, InterruptedException {
    box.kill();
    box.awaitEmpty(Deadline.in(CgroupRemoval.BOUND));
  }

  @Override
  public void remove(int exec) {}

  /**
   * Returns the descendants of the subreaper; if it is dead, all processes of the box that have no
   * other.
   */
  @Override
  public List<Integer> procs(int exec, int subreaper) {
    Optional<ProcessRef> init = box.init();
    if (init.isEmpty() || subreaper == 0) {
      return List.of();
    }
    int top = init.get().pid();
    var members = ProcFs.tree(top);
    int root =
        members.values().stream()
            .filter(stat -> isSubreaper(stat, top))
            .map(ProcFs.Stat::pid)
            .filter(pid -> ProcFs.pidInside(pid).filter(inside -> inside == subreaper).isPresent())
            .findFirst()
            .orElse(top);
    return members.keySet().stream().filter(pid -> isBelow(members, pid, root, top)).toList();
  }

  /** KERNEL: no process can join a session; what a subreaper starts leaves that of init. */
  private static boolean isSubreaper(ProcFs.Stat stat, int top) {
    return stat.parent() == top && stat.session() == top;
  }

  /** Returns whether the nearest ancestor, of init and the subreapers, is {@code root}. */
  private static boolean isBelow(Map<Integer, ProcFs.Stat> members, int pid, int root, int top) {
    var each = members.get(pid);
    for (int i = 0; each != null && i < members.size(); i++) {
      if (each.pid() == top || isSubreaper(each, top)) {
        return each.pid() == root && pid != root;
      }
      each = members.get(parent(members, each));
    }
    return false;
  }

  /** RACE: a parent that has died meanwhile has left its children to another. */
  private static int parent(Map<Integer, ProcFs.Stat> members, ProcFs.Stat stat) {
    return members.containsKey(stat.parent())
        ? stat.parent()
        : ProcFs.stat(stat.pid()).map(ProcFs.Stat::parent).orElse(0);
  }
}
