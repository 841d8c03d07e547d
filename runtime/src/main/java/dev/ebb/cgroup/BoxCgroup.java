package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.step.Step;
import java.io.File;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * The cgroups of one box: {@code <box>/init} for its pid 1 beside {@code <box>/work/<exec>} for
 * commands, in version 2; in hybrid mode also one flat cgroup in each v1 hierarchy.
 *
 * <p>Limits sit on {@code work}, so that init still runs when the workload has eaten its share;
 * {@code <box>} is limited too, with a small reserve. A v1 limit holds for the box as a whole:
 * nothing can be born in another v1 cgroup than its parent's, so commands are where init is.
 */
public final class BoxCgroup implements Enclosure {
  private static final Logger LOG = System.getLogger(BoxCgroup.class.getName());

  /** What an operator's commands may use, where no cgroup is above those of the work and theirs. */
  private static final long LANE_PIDS = 32;

  private static final long LANE_MEMORY = 64L << 20;

  /** What init may use beyond the limits of the work. */
  private static final long RESERVE_PIDS = 8;

  private static final long RESERVE_MEMORY = 16L << 20;
  private static final Duration LOOK_AGAIN = Duration.ofMillis(1);

  /** What version 2 must offer. */
  static final List<String> CONTROLLERS = List.of("cpu", "memory", "pids");

  private final Hierarchies hierarchies;
  private final String name;
  private final List<Path> paths;
  private final List<Path> lanePaths;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;

  /** The execs whose leaf somebody will remove. */
  private final Set<Integer> leaves = ConcurrentHashMap.newKeySet();

  /** The execs that are in the lane. */
  private final Set<Integer> operators = ConcurrentHashMap.newKeySet();

  /** Forks that the limit refused in leaves that are gone by now. */
  private final AtomicLong refusedInRemovedLeaves = new AtomicLong();

  /** Names the cgroups; makes nothing. {@code name} is {@code <instance>/<box>}. */
  public BoxCgroup(
      Hierarchies hierarchies, String name, EmptyWait emptyWait, CgroupRemoval removal) {
    this.hierarchies = hierarchies;
    this.name = name;
    paths = hierarchies.everywhere(name);
    lanePaths = hierarchies.everywhere(name + "-lane").subList(1, paths.size());
    this.emptyWait = emptyWait;
    this.removal = removal;
  }

  @Override
  public List<Path> paths() {
    return paths;
  }

  public Cgroup box() {
    return new Cgroup(paths.getFirst());
  }

  public Cgroup init() {
    return box().child("init");
  }

  private Cgroup work() {
    return box().child("work");
  }

  private Cgroup lane() {
    return box().child("lane");
  }

  public Cgroup leaf(int exec) {
    return (operators.contains(exec) ? lane() : work()).child(Integer.toString(exec));
  }

  private Optional<Cgroup> version1(String controller) {
    return version1(controller, "");
  }

  private Optional<Cgroup> version1(String controller, String suffix) {
    return Optional.ofNullable(hierarchies.version1().get(controller))
        .map(root -> new Cgroup(root.resolve(name + suffix)));
  }

  @Override
  public Placement placement() {
    List<Path> tasks = paths().stream().skip(1).map(path -> path.resolve("tasks")).toList();
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
    String ours = hierarchies.prefix() + "/" + name + "/";
    return ProcFs.cgroup(pid).filter(path -> path.startsWith(ours)).isPresent();
  }

  /** Makes them and sets the limits; {@code uid} may clone commands into leaves. */
  @Override
  public void create(CgroupLimits limits, int uid) throws KernelException {
    Step.MAKE_BOX_CGROUP.reach();
    Cgroup.create(box().path());
    Step.MAKE_INIT_CGROUP.reach();
    Cgroup.create(init().path());
    Step.MAKE_WORK_CGROUP.reach();
    Cgroup.create(work().path());
    Step.MAKE_CONTROLLERS.reach();
    for (Path path : paths().subList(1, paths().size())) {
      Cgroup.create(path);
    }
    Step.SET_LIMITS.reach();
    configure(limits, uid);
  }

  /** Sets the limits of what has been made. */
  void configure(CgroupLimits limits, int uid) throws KernelException {
    if (hierarchies.mode() == CgroupMode.V2) {
      // ORDER: from the top, for a cgroup can hand on only what it was given.
      delegate(box());
      delegate(work());
    }
    limit(limits);
    // KERNEL: a clone into a leaf needs write permission on cgroup.procs of the leaf and of the
    // nearest common ancestor.
    Filesystem.chown(box().path().resolve("cgroup.procs"), uid, uid);
  }

  @Override
  public void limit(CgroupLimits from, CgroupLimits to) throws KernelException {
    if (from.equals(to)) {
      return;
    }
    Step.CHANGE_LIMITS.reach();
    // KERNEL: v1 lets memory with swap never be less than memory alone.
    if (isHybrid() && to.memory().bytes() > from.memory().bytes()) {
      new MemoryController(memory().cgroup(), true).noSwap(to.memory().bytes());
    }
    limit(to);
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

  private void limit(CgroupLimits limits) throws KernelException {
    if (isHybrid()) {
      limitVersion1(limits);
    } else {
      limit(work(), limits, 0, 0);
      limit(box(), limits, RESERVE_PIDS, RESERVE_MEMORY);
    }
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
  @Override
  public Optional<Path> createLeaf(int exec, int uid) throws KernelException {
    Step.MAKE_LEAF.reach();
    // ORDER: one that is there and is nobody's is a stray.
    leaves.add(exec);
    Cgroup leaf = Cgroup.create(leaf(exec).path());
    Step.GIVE_LEAF.reach();
    configureLeaf(leaf, uid);
    return Optional.of(leaf.path());
  }

  @Override
  public int lastLeaf() {
    return listLeaves().stream().mapToInt(BoxCgroup::exec).max().orElse(0);
  }

  @Override
  public void findLeaves() {
    listLeaves().forEach(leaf -> leaves.add(exec(leaf)));
  }

  @Override
  public void abandonLeaf(int exec) {
    leaves.remove(exec);
  }

  /** RACE: one is somebody's before it is made, until it is gone; and its number never returns. */
  @Override
  public List<Path> strayLeaves() {
    return listLeaves().stream()
        .filter(leaf -> !leaves.contains(exec(leaf)))
        .filter(leaf -> leaf.toFile().exists())
        .toList();
  }

  private List<Path> listLeaves() {
    return Stream.of(work(), lane())
        .map(cgroup -> cgroup.path().toFile().listFiles())
        .filter(Objects::nonNull)
        .flatMap(Stream::of)
        .filter(child -> child.getName().matches("\\d{1,9}"))
        .map(File::toPath)
        .toList();
  }

  private static int exec(Path leaf) {
    return Integer.parseInt(leaf.getFileName().toString());
  }

  /** KERNEL: a v1 limit holds for all below it, so there the lane lies beside the box. */
  @Override
  public List<Path> lanePaths() {
    return lanePaths;
  }

  @Override
  public Optional<Path> createLane(int exec, int uid) throws KernelException {
    if (!lane().exists()) {
      openLane();
    }
    operators.add(exec);
    return createLeaf(exec, uid);
  }

  @Override
  public void findLane(int exec) {
    operators.add(exec);
  }

  private void openLane() throws KernelException {
    Step.MAKE_LANE.reach();
    for (Path path : lanePaths()) {
      Cgroup.create(path);
    }
    var memory = version1("memory", "-lane");
    if (memory.isPresent()) {
      new MemoryController(memory.get(), true).max(LANE_MEMORY);
    }
    var pids = version1("pids", "-lane");
    if (pids.isPresent()) {
      new PidsController(pids.get()).max(LANE_PIDS);
    }
    Cgroup.create(lane().path());
    if (hierarchies.mode() == CgroupMode.V2) {
      delegate(lane());
    }
  }

  @Override
  public void moveInit(int pid, boolean intoLane) throws KernelException {
    List<Path> to = intoLane ? lanePaths() : paths().subList(1, paths().size());
    for (Path path : to) {
      CgroupFile.of(path, "cgroup.procs").write(Integer.toString(pid));
    }
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

  @Override
  public void killLeaf(int exec) throws KernelException {
    leaf(exec).kill();
  }

  @Override
  public List<Integer> leafProcs(int exec, int shepherd) throws KernelException {
    // RACE: the leaf of one that has just ended is gone.
    return leaf(exec).allProcs();
  }

  @Override
  public void endLeaf(int exec) throws KernelException, InterruptedException {
    Step.END_LEAF.reach();
    leaf(exec).kill();
    emptyWait.await(leaf(exec), Deadline.in(CgroupRemoval.BOUND));
  }

  @Override
  public void removeLeaf(int exec) throws KernelException {
    try {
      long refused = refusedIn(leaf(exec));
      removal.remove(leaf(exec));
      refusedInRemovedLeaves.addAndGet(refused);
    } finally {
      // ORDER: what would not go is the sweep's from now on.
      abandonLeaf(exec);
      operators.remove(exec);
    }
  }

  /** In v1 a leaf has no controller; a count that cannot be read keeps no leaf from its end. */
  private long refusedIn(Cgroup leaf) {
    try {
      return isHybrid() ? 0 : new PidsController(leaf).maxEvents();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=count_unknown, ignoring reason=\"{0}\"", e.getMessage());
      return 0;
    }
  }

  @Override
  public boolean canFreeze() {
    return true;
  }

  /** Init stays awake: it must answer, and end what is frozen. */
  @Override
  public void freeze(boolean frozen, Deadline deadline) throws KernelException {
    (frozen ? Step.FREEZE : Step.THAW).reach();
    work().freeze(frozen);
    try {
      awaitFrozen(frozen, deadline);
    } catch (KernelException e) {
      // What is not known to stand still goes on.
      work().freeze(false);
      throw e;
    }
  }

  private void awaitFrozen(boolean frozen, Deadline deadline) throws KernelException {
    Step.SEE_FROZEN.reach();
    if (!deadline.until(LOOK_AGAIN, () -> work().isFrozen() == frozen)) {
      throw new KernelException("freeze " + work().path(), Errno.EBUSY);
    }
  }

  @Override
  public boolean isFrozen() throws KernelException {
    return work().isFrozen();
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
  public long oomKills() throws KernelException {
    return memory().oomKills();
  }

  /** Version 2 needs none: there the kernel ends the whole exec by itself. */
  @Override
  public Optional<Fd> oomEvents(Scope scope) throws KernelException {
    return isHybrid() ? Optional.of(memory().oomEvents(scope)) : Optional.empty();
  }

  private boolean isHybrid() {
    return hierarchies.mode() == CgroupMode.HYBRID;
  }

  private MemoryController memory() {
    return new MemoryController(version1("memory").orElse(work()), isHybrid());
  }

  private PidsController pids() {
    return new PidsController(version1("pids").orElse(work()));
  }

  @Override
  public Optional<CgroupUsage> usage() throws KernelException {
    if (!exists()) {
      return Optional.of(CgroupUsage.NONE);
    }
    var memory = memory();
    var pids = pids();
    return Optional.of(
        new CgroupUsage(
            CpuController.used(work()),
            memory.peak(),
            withoutInit(pids.peak()),
            memory.oomKills(),
            isHybrid() ? pids.maxEvents() : pidsRefused()));
  }

  @Override
  public Optional<Occupancy> occupancy() throws KernelException {
    return Optional.of(
        exists()
            ? new Occupancy(memory().current(), withoutInit(pids().current()))
            : Occupancy.NONE);
  }

  @Override
  public Optional<Pressure> pressure() throws KernelException {
    return Pressure.of(work());
  }

  /** In v1 it is where the commands are. */
  private long withoutInit(long tasks) {
    return Math.max(0, tasks - (isHybrid() ? 1 : 0));
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

  @Override
  public List<Integer> procs() throws KernelException {
    return box().allProcs();
  }

  @Override
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

  @Override
  public void killEach() throws KernelException {
    box().killEach();
  }

  /** KERNEL: who is cloned into a cgroup that was ever killed is killed, too (kill_seq, 6.18). */
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
    for (List<Path> version1 : List.of(paths.subList(1, paths.size()), lanePaths)) {
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
    for (int exec : leaves) {
      var _ = removal.tryRemove(leaf(exec));
    }
    return removal.tryRemove(init()) && removal.tryRemove(work()) && removal.tryRemove(box());
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
