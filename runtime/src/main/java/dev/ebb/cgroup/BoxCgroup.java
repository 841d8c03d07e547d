package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The cgroups of one box: {@code <box>/init} for its pid 1 beside {@code <box>/work/<exec>} for
 * commands, in version 2; in hybrid mode also one flat cgroup in each v1 hierarchy.
 *
 * <p>Limits sit on {@code work}, so that init still runs when the workload has eaten its share;
 * {@code <box>} is limited too, with a small reserve. A v1 limit holds for the box as a whole:
 * nothing can be born in another v1 cgroup than its parent's, so commands are where init is.
 */
public final class BoxCgroup {
  /** What init may use beyond the limits of the work. */
  private static final long RESERVE_PIDS = 8;

  private static final long RESERVE_MEMORY = 16L << 20;

  /** What version 2 must offer. */
  static final List<String> CONTROLLERS = List.of("cpu", "memory", "pids");

  private final Hierarchies hierarchies;
  private final String name;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;

  /** Forks that the limit refused in leaves that are gone by now. */
  private final AtomicLong refusedInRemovedLeaves = new AtomicLong();

  /** Names the cgroups; makes nothing. {@code name} is {@code <instance>/<box>}. */
  public BoxCgroup(
      Hierarchies hierarchies, String name, EmptyWait emptyWait, CgroupRemoval removal) {
    this.hierarchies = hierarchies;
    this.name = name;
    this.emptyWait = emptyWait;
    this.removal = removal;
  }

  /** The directories of this box, one a hierarchy: what the ledger must list. */
  public List<Path> paths() {
    return hierarchies.everywhere(name);
  }

  public Cgroup box() {
    return new Cgroup(hierarchies.unified().orElseThrow().resolve(name));
  }

  public Cgroup init() {
    return box().child("init");
  }

  private Cgroup work() {
    return box().child("work");
  }

  public Cgroup leaf(int exec) {
    return work().child(Integer.toString(exec));
  }

  private Optional<Cgroup> version1(String controller) {
    return Optional.ofNullable(hierarchies.version1().get(controller))
        .map(root -> new Cgroup(root.resolve(name)));
  }

  /** The v1 {@code tasks} files by which a process that has but one thread moves itself in. */
  public List<Path> version1Tasks() {
    return paths().stream().skip(1).map(path -> path.resolve("tasks")).toList();
  }

  /** Makes them and sets the limits; {@code uid} may clone commands into leaves. */
  public void create(CgroupLimits limits, int uid) throws KernelException {
    Cgroup.create(box().path());
    Cgroup.create(init().path());
    Cgroup.create(work().path());
    for (Path path : paths().subList(1, paths().size())) {
      Cgroup.create(path);
    }
    configure(limits, uid);
  }

  /** Sets the limits of what has been made. */
  void configure(CgroupLimits limits, int uid) throws KernelException {
    if (hierarchies.mode() == CgroupMode.V2) {
      // ORDER: from the top, for a cgroup can hand on only what it was given.
      delegate(box());
      delegate(work());
      limit(work(), limits, 0, 0);
      limit(box(), limits, RESERVE_PIDS, RESERVE_MEMORY);
    } else {
      limitVersion1(limits);
    }
    // KERNEL: a clone into a leaf needs write permission on cgroup.procs of the leaf and of the
    // nearest common ancestor.
    Filesystem.chown(box().path().resolve("cgroup.procs"), uid, uid);
  }

  static void delegate(Cgroup cgroup) throws KernelException {
    CgroupFile.of(cgroup.path(), "cgroup.subtree_control")
        .write("+" + String.join(" +", CONTROLLERS));
  }

  private static void limit(Cgroup cgroup, CgroupLimits limits, long pids, long memory)
      throws KernelException {
    new MemoryController(cgroup, false).max(saturatedSum(limits.memory().bytes(), memory));
    new PidsController(cgroup).max(limits.pids() + pids);
    new CpuController(cgroup, false).max(limits.cpus());
  }

  private static long saturatedSum(long limit, long reserve) {
    return limit > Long.MAX_VALUE - reserve ? Long.MAX_VALUE : limit + reserve;
  }

  private void limitVersion1(CgroupLimits limits) throws KernelException {
    var memory = version1("memory");
    if (memory.isPresent()) {
      new MemoryController(memory.get(), true).max(limits.memory().bytes());
    }
    var pids = version1("pids");
    if (pids.isPresent()) {
      // Init is in it too.
      new PidsController(pids.get()).max(limits.pids() + 1);
    }
    var cpu = version1("cpu");
    if (cpu.isPresent()) {
      new CpuController(cpu.get(), true).max(limits.cpus());
    }
  }

  /** Makes the leaf of one exec, for {@code uid} to clone into and to kill. */
  public Cgroup createLeaf(int exec, int uid) throws KernelException {
    Cgroup leaf = Cgroup.create(leaf(exec).path());
    configureLeaf(leaf, uid);
    return leaf;
  }

  void configureLeaf(Cgroup leaf, int uid) throws KernelException {
    if (hierarchies.mode() == CgroupMode.V2) {
      new MemoryController(leaf, false).oomGroup();
    }
    Filesystem.chown(leaf.path().resolve("cgroup.procs"), uid, uid);
    try {
      Filesystem.chown(leaf.path().resolve("cgroup.kill"), uid, uid);
    } catch (KernelException e) {
      // KERNEL: before Linux 5.14 there is none, and init kills one by one.
      if (!e.is(Errno.ENOENT)) {
        throw e;
      }
    }
  }

  /** Kills what is left of an exec that init cannot end any more, and waits for it. */
  public void endLeaf(int exec) throws KernelException, InterruptedException {
    leaf(exec).kill();
    emptyWait.await(leaf(exec), Deadline.in(CgroupRemoval.BOUND));
  }

  public void removeLeaf(int exec) throws KernelException {
    long refused = new PidsController(leaf(exec)).maxEvents();
    removal.remove(leaf(exec));
    refusedInRemovedLeaves.addAndGet(refused);
  }

  /** How often the OOM killer struck. */
  public long oomKills() throws KernelException {
    return memory().oomKills();
  }

  /**
   * Readable when the OOM killer is about to strike; empty where the kernel ends the whole exec.
   */
  public Optional<Fd> oomEvents(Scope scope) throws KernelException {
    return hierarchies.mode() == CgroupMode.HYBRID
        ? Optional.of(memory().oomEvents(scope))
        : Optional.empty();
  }

  private MemoryController memory() {
    return new MemoryController(
        version1("memory").orElse(work()), hierarchies.mode() == CgroupMode.HYBRID);
  }

  public CgroupUsage usage() throws KernelException {
    boolean hybrid = hierarchies.mode() == CgroupMode.HYBRID;
    var memory = memory();
    var pids = new PidsController(version1("pids").orElse(work()));
    return new CgroupUsage(
        CpuController.used(work()),
        memory.peak(),
        Math.max(0, pids.peak() - (hybrid ? 1 : 0)),
        memory.oomKills(),
        hybrid ? pids.maxEvents() : pidsRefused());
  }

  /**
   * How many forks the limit of the work refused.
   *
   * <p>KERNEL: from Linux 6.11 on they count where the limit is; before, and with {@code
   * pids_localevents}, where the forking task is, and nowhere above.
   */
  private long pidsRefused() throws KernelException {
    long refused = refusedInRemovedLeaves.get();
    for (Cgroup cgroup : work().bottomUp()) {
      refused += new PidsController(cgroup).maxEvents();
    }
    return refused;
  }

  /** Every process of the box. */
  public List<Integer> procs() throws KernelException {
    return box().allProcs();
  }

  /** Kills every process of the box, now and without waiting. */
  public void kill() throws KernelException {
    try {
      var freezer = version1("freezer");
      if (freezer.isPresent()) {
        freezer.get().thaw();
      }
    } finally {
      box().kill();
    }
  }

  /** False when members are still alive at the deadline. */
  public boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException {
    return emptyWait.await(box(), deadline);
  }

  /** Removes all of them, bottom-up; absent ones are success. */
  public void remove() throws KernelException {
    var failures = new ArrayList<KernelException>();
    for (Cgroup cgroup : box().bottomUp()) {
      removeOne(cgroup, failures);
    }
    for (Path path : paths()) {
      removeOne(new Cgroup(path), failures);
    }
    if (!failures.isEmpty()) {
      KernelException first = failures.removeFirst();
      failures.forEach(first::addSuppressed);
      throw first;
    }
  }

  private void removeOne(Cgroup cgroup, List<KernelException> failures) {
    try {
      removal.remove(cgroup);
    } catch (KernelException e) {
      failures.add(e);
    }
  }
}
