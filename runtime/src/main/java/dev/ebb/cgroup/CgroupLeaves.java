package dev.ebb.cgroup;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.File;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** A cgroup for each exec: below {@code work}, or below {@code lane} for an operator's. */
final class CgroupLeaves implements Leaves {
  private static final Logger LOG = System.getLogger(CgroupLeaves.class.getName());

  private final BoxLayout layout;
  private final BoxLimits limits;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;

  /** The execs whose leaf has an owner that will remove it. */
  private final Set<Integer> leaves = ConcurrentHashMap.newKeySet();

  /** The execs that are in the lane. */
  private final Set<Integer> operators = ConcurrentHashMap.newKeySet();

  /**
   * False only while the lane cannot exist, which is unknown for a box that another engine made.
   */
  private volatile boolean mayHaveLane = true;

  /** Forks that the limit refused in leaves that are gone by now. */
  private final AtomicLong refusedInRemoved = new AtomicLong();

  CgroupLeaves(BoxLayout layout, BoxLimits limits, EmptyWait emptyWait, CgroupRemoval removal) {
    this.layout = layout;
    this.limits = limits;
    this.emptyWait = emptyWait;
    this.removal = removal;
  }

  Cgroup leaf(int exec) {
    return (operators.contains(exec) ? layout.lane() : layout.work()).child(Integer.toString(exec));
  }

  /** The leaves with an owner. */
  List<Cgroup> owned() {
    return leaves.stream().map(this::leaf).toList();
  }

  /** Makes the leaf of one exec, for {@code uid} to clone into and to kill. */
  @Override
  public Optional<Path> create(int exec, int uid) throws KernelException {
    Step.MAKE_LEAF.reach();
    // ORDER: a leaf that is there and has no owner is a stray.
    leaves.add(exec);
    Cgroup leaf = Cgroup.create(leaf(exec).path());
    Step.GIVE_LEAF.reach();
    configure(leaf, uid);
    return Optional.of(leaf.path());
  }

  void configure(Cgroup leaf, int uid) throws KernelException {
    if (layout.isVersion2()) {
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
  public int last() {
    return list().stream().mapToInt(CgroupLeaves::exec).max().orElse(0);
  }

  @Override
  public void find() {
    list().forEach(leaf -> leaves.add(exec(leaf)));
  }

  @Override
  public void abandon(int exec) {
    leaves.remove(exec);
  }

  /** RACE: a leaf has its owner before it is made, until it is gone; its number never returns. */
  @Override
  public List<Path> strays() {
    return list().stream()
        .filter(leaf -> !leaves.contains(exec(leaf)))
        .filter(leaf -> leaf.toFile().exists())
        .toList();
  }

  private List<Path> list() {
    return Stream.of(layout.work(), layout.lane())
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

  @Override
  public List<Path> lanePaths() {
    return layout.lanePaths();
  }

  @Override
  public Optional<Path> createInLane(int exec, int uid) throws KernelException {
    if (!layout.lane().exists()) {
      openLane();
    }
    operators.add(exec);
    return create(exec, uid);
  }

  @Override
  public void findInLane(int exec) {
    operators.add(exec);
  }

  /** Called before the cgroups of the box are made. */
  void beginWithoutLane() {
    mayHaveLane = false;
  }

  /** Returns the lane's cgroups in v1 that may be there. */
  List<Path> lanePathsToRemove() {
    return mayHaveLane ? layout.lanePaths() : List.of();
  }

  private void openLane() throws KernelException {
    mayHaveLane = true;
    Step.MAKE_LANE.reach();
    for (Path path : layout.lanePaths()) {
      Cgroup.create(path);
    }
    limits.setLane();
    Cgroup.create(layout.lane().path());
    if (layout.isVersion2()) {
      BoxCgroup.delegate(layout.lane());
    }
  }

  @Override
  public void moveInit(int pid, boolean intoLane) throws KernelException {
    List<Path> to = intoLane ? layout.lanePaths() : layout.version1Paths();
    for (Path path : to) {
      CgroupFile.of(path, "cgroup.procs").write(Integer.toString(pid));
    }
  }

  @Override
  public void kill(int exec) throws KernelException {
    leaf(exec).kill();
  }

  @Override
  public List<Integer> procs(int exec, int subreaper) throws KernelException {
    // RACE: the leaf of an exec that has just ended is gone.
    return leaf(exec).allProcs();
  }

  @Override
  public void end(int exec) throws KernelException, InterruptedException {
    Step.END_LEAF.reach();
    leaf(exec).kill();
    emptyWait.await(leaf(exec), Deadline.in(CgroupRemoval.BOUND));
  }

  @Override
  public void remove(int exec) throws KernelException {
    try {
      long refused = refusedIn(leaf(exec));
      removal.remove(leaf(exec));
      refusedInRemoved.addAndGet(refused);
    } finally {
      // ORDER: from now on the sweep removes a leaf that would not go.
      abandon(exec);
      operators.remove(exec);
    }
  }

  /** In v1 a leaf has no controller; a count that cannot be read keeps no leaf from its end. */
  private long refusedIn(Cgroup leaf) {
    try {
      return layout.isHybrid() ? 0 : new PidsController(leaf).maxEvents();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=count_unknown, ignoring reason=\"{0}\"", e.getMessage());
      return 0;
    }
  }

  /** How many forks the limit refused in leaves that are gone by now. */
  long refusedInRemoved() {
    return refusedInRemoved.get();
  }
}
