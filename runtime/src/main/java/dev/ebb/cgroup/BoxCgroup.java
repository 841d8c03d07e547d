package dev.ebb.cgroup;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The cgroups of one box: {@code <box>/init} for its pid 1 beside {@code <box>/work/<exec>} for
 * commands, in version 2; in hybrid mode also one flat cgroup in each v1 hierarchy.
 */
public final class BoxCgroup implements Enclosure {
  private static final Duration LOOK_AGAIN = Duration.ofMillis(1);

  /** The controllers that version 2 must offer. */
  static final List<String> CONTROLLERS = List.of("cpu", "memory", "pids");

  private final BoxLayout layout;
  private final BoxLimits limits;
  private final CgroupLeaves leaves;
  private final CgroupAccounting accounting;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;

  /** Names the cgroups; makes nothing. {@code name} is {@code <instance>/<box>}. */
  public BoxCgroup(
      Hierarchies hierarchies, String name, EmptyWait emptyWait, CgroupRemoval removal) {
    layout = new BoxLayout(hierarchies, name);
    limits = new BoxLimits(layout);
    leaves = new CgroupLeaves(layout, limits, emptyWait, removal);
    accounting = new CgroupAccounting(layout, leaves);
    this.emptyWait = emptyWait;
    this.removal = removal;
  }

  @Override
  public List<Path> paths() {
    return layout.paths();
  }

  public Cgroup box() {
    return layout.box();
  }

  public Cgroup init() {
    return layout.init();
  }

  public Cgroup leaf(int exec) {
    return leaves.leaf(exec);
  }

  @Override
  public Leaves leaves() {
    return leaves;
  }

  @Override
  public Accounting accounting() {
    return accounting;
  }

  @Override
  public Placement placement() {
    List<Path> tasks = layout.version1Paths().stream().map(path -> path.resolve("tasks")).toList();
    return new Placement(Optional.of(box().path()), Optional.of(init().path()), tasks);
  }

  @Override
  public void begun(ProcessRef outside) {}

  @Override
  public void known(Pidfd init) {}

  @Override
  public Optional<ProcessRef> settled(Pidfd init) {
    return Optional.empty();
  }

  @Override
  public boolean exists() {
    return box().exists();
  }

  /** KERNEL: /proc/PID/cgroup also shows where a zombie is, below the root we see. */
  @Override
  public boolean holds(int pid) {
    return ProcFs.cgroup(pid).filter(path -> path.startsWith(layout.prefix())).isPresent();
  }

  /** Makes them and sets the limits; {@code uid} may clone commands into leaves. */
  @Override
  public void create(CgroupLimits limits, int uid) throws KernelException {
    leaves.beginWithoutLane();
    Step.MAKE_BOX_CGROUP.reach();
    Cgroup.create(box().path());
    Step.MAKE_INIT_CGROUP.reach();
    Cgroup.create(init().path());
    Step.MAKE_WORK_CGROUP.reach();
    Cgroup.create(layout.work().path());
    Step.MAKE_CONTROLLERS.reach();
    for (Path path : layout.version1Paths()) {
      Cgroup.create(path);
    }
    Step.SET_LIMITS.reach();
    configure(limits, uid);
  }

  /** Sets the limits of the cgroups that exist. */
  void configure(CgroupLimits wanted, int uid) throws KernelException {
    if (layout.isVersion2()) {
      // ORDER: from the top, for a cgroup can hand on only what it was given.
      delegate(box());
      delegate(layout.work());
    }
    limits.set(wanted);
    // KERNEL: a clone into a leaf needs write permission on cgroup.procs of the leaf and of the
    // nearest common ancestor.
    Filesystem.chown(box().path().resolve("cgroup.procs"), uid, uid);
  }

  @Override
  public void limit(CgroupLimits from, CgroupLimits to) throws KernelException {
    limits.change(from, to);
  }

  /** Takes back what {@link #delegate} gave to children. */
  public static void withdraw(Cgroup cgroup) throws KernelException {
    CgroupFile.of(cgroup.path(), "cgroup.subtree_control")
        .write("-" + String.join(" -", CONTROLLERS));
  }

  static void delegate(Cgroup cgroup) throws KernelException {
    CgroupFile.of(cgroup.path(), "cgroup.subtree_control")
        .write("+" + String.join(" +", CONTROLLERS));
  }

  @Override
  public boolean canFreeze() {
    return true;
  }

  /** Init is not frozen: it must answer, and end frozen processes. */
  @Override
  public void freeze(boolean frozen, Deadline deadline) throws KernelException {
    (frozen ? Step.FREEZE : Step.THAW).reach();
    layout.work().freeze(frozen);
    try {
      awaitFrozen(frozen, deadline);
    } catch (KernelException e) {
      // Thaws every cgroup that is not known to be frozen.
      layout.work().freeze(false);
      throw e;
    }
  }

  private void awaitFrozen(boolean frozen, Deadline deadline) throws KernelException {
    Step.SEE_FROZEN.reach();
    if (!deadline.until(LOOK_AGAIN, () -> isFrozen() == frozen)) {
      throw new KernelException("freeze " + layout.work().path(), Errno.EBUSY);
    }
  }

  @Override
  public boolean isFrozen() throws KernelException {
    return layout.work().isFrozen();
  }

  @Override
  public Optional<ProcessRef> findInit() throws KernelException {
    return init().allProcs().stream()
        .map(ProcessRef::of)
        .flatMap(Optional::stream)
        .filter(ProcessRef::isAlive)
        .findFirst();
  }

  @Override
  public List<Integer> procs() throws KernelException {
    return box().allProcs();
  }

  @Override
  public void kill() throws KernelException {
    try {
      var freezer = layout.version1("freezer");
      if (freezer.isPresent()) {
        freezer.get().thaw();
      }
    } finally {
      box().kill();
    }
  }

  @Override
  public void killEach() throws KernelException {
    box().killEach();
  }

  /** KERNEL: a process cloned into a cgroup that was ever killed dies, too (kill_seq, 6.18). */
  @Override
  public void renew() throws KernelException {
    removal.remove(init());
    Step.MAKE_INIT_CGROUP.reach();
    Cgroup.create(init().path());
  }

  @Override
  public boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException {
    return emptyWait.await(box(), deadline);
  }

  /** Bottom-up: by their names, and only if that is not all, by what lies there. */
  @Override
  public int remove() throws KernelException {
    var failures = new ArrayList<KernelException>();
    int removed = exists() && removeByName() ? 1 : removeWhatLiesThere(failures);
    for (List<Path> version1 : List.of(layout.version1Paths(), leaves.lanePathsToRemove())) {
      for (Path path : version1) {
        removed += removeOne(new Cgroup(path), failures) ? 1 : 0;
      }
    }
    if (!failures.isEmpty()) {
      KernelException first = failures.removeFirst();
      failures.forEach(first::addSuppressed);
      throw first;
    }
    return removed;
  }

  private int removeWhatLiesThere(List<KernelException> failures) throws KernelException {
    int removed = 0;
    for (Cgroup cgroup : box().bottomUp()) {
      boolean isRemoved = removeOne(cgroup, failures);
      removed += isRemoved && cgroup.equals(box()) ? 1 : 0;
    }
    return removed;
  }

  private boolean removeByName() throws KernelException {
    for (Cgroup leaf : leaves.owned()) {
      var _ = removal.tryRemove(leaf);
    }
    return removal.tryRemove(init())
        && removal.tryRemove(layout.work())
        && removal.tryRemove(box());
  }

  private boolean removeOne(Cgroup cgroup, List<KernelException> failures) {
    try {
      return removal.remove(cgroup);
    } catch (KernelException e) {
      failures.add(e);
      return false;
    }
  }
}
