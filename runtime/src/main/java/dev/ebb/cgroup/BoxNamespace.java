package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a box on a host without cgroups: those of its pid namespace, which the kernel
 * ends with its init; and until init is known, those of the session that makes it.
 *
 * <p>Execs are told apart by init only, so what init cannot end takes the box along. Thread-safe.
 */
public final class BoxNamespace implements Enclosure {
  private static final Duration LOOK_AGAIN = Duration.ofMillis(1);

  private final String box;
  private volatile @Nullable Session making;
  private volatile @Nullable Init init;

  private record Init(ProcessRef ref, Pidfd pidfd) {}

  /** Of the box with this id, which stands in the command line of whatever makes it. */
  public BoxNamespace(String box) {
    this.box = box;
  }

  @Override
  public void begun(ProcessRef outside) {
    making = new Session(outside, box);
  }

  @Override
  public Optional<ProcessRef> settled(Pidfd pidfd) {
    known(pidfd);
    making = null;
    return Optional.ofNullable(init).map(Init::ref);
  }

  @Override
  public void known(Pidfd pidfd) {
    // It is ours to reap, so it is there, dead or alive, until we do.
    ProcessRef.of(pidfd.pid()).ifPresent(ref -> init = new Init(ref, pidfd));
  }

  @Override
  public List<Path> paths() {
    return List.of();
  }

  /** Makes nothing: limits are set by init, process by process. */
  @Override
  public void create(CgroupLimits limits, int uid) {}

  /** Init sets those of each command. */
  @Override
  public void limit(CgroupLimits from, CgroupLimits to) {}

  @Override
  public Placement placement() {
    return Placement.ANYWHERE;
  }

  @Override
  public boolean exists() {
    return making != null || init != null;
  }

  /**
   * KERNEL: whoever is orphaned in a pid namespace falls to its init, so all of it descends from
   * there. To ask for the namespace itself needs a permission that root of a container lacks.
   */
  @Override
  public List<Integer> procs() {
    Init known = init;
    if (known != null && known.ref.exists()) {
      return List.copyOf(ProcFs.tree(known.ref.pid()).keySet());
    }
    Session session = making;
    return session == null ? List.of() : session.members();
  }

  @Override
  public boolean holds(int pid) {
    Init known = init;
    Session session = making;
    return (known != null && known.ref.equals(ProcessRef.of(pid).orElse(null)))
        || (session != null && session.holds(pid));
  }

  @Override
  public void kill() throws KernelException {
    Init known = init;
    Session session = making;
    try {
      if (known != null) {
        killInit(known);
      }
    } finally {
      if (session != null) {
        session.kill();
      }
    }
  }

  @Override
  public void killEach() throws KernelException {
    kill();
  }

  @Override
  public void renew() {}

  private static void killInit(Init known) throws KernelException {
    try {
      known.pidfd.signal(Signal.KILL);
    } catch (KernelException e) {
      // RACE: a box that is being released has given its descriptors back.
      if (e.is(Errno.EBADF)) {
        known.ref.signal(Signal.KILL);
      } else if (!e.is(Errno.ESRCH)) {
        throw e;
      }
    }
  }

  /** KERNEL: init is a zombie only when all of its namespace has been reaped: that proves all. */
  @Override
  public boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException {
    return deadline.untilInterrupted(LOOK_AGAIN, this::isEmptyOrKilled);
  }

  private boolean isEmptyOrKilled() throws KernelException {
    if (isEmpty()) {
      return true;
    }
    kill();
    return false;
  }

  private boolean isEmpty() {
    Init known = init;
    Session session = making;
    return (known == null || !known.ref.isAlive())
        && (session == null || session.members().isEmpty());
  }

  @Override
  public int remove() {
    return 0;
  }

  @Override
  public boolean canFreeze() {
    return false;
  }

  @Override
  public void freeze(boolean frozen, Deadline deadline) throws KernelException {
    throw new KernelException("freeze without cgroups", Errno.EOPNOTSUPP);
  }

  @Override
  public boolean isFrozen() {
    return false;
  }

  /** SAFETY: only by what the ledger says of it; by its looks it could be anybody's. */
  @Override
  public Optional<ProcessRef> findInit() {
    return Optional.empty();
  }

  @Override
  public Optional<Fd> oomEvents(Scope scope) {
    return Optional.empty();
  }

  @Override
  public long oomKills() {
    return 0;
  }

  @Override
  public Optional<CgroupUsage> usage() {
    return Optional.empty();
  }

  @Override
  public Optional<Occupancy> occupancy() {
    return Optional.empty();
  }

  @Override
  public Optional<Pressure> pressure() {
    return Optional.empty();
  }

  @Override
  public Optional<Path> createLeaf(int exec, int uid) {
    return Optional.empty();
  }

  @Override
  public void findLeaves() {}

  @Override
  public void abandonLeaf(int exec) {}

  @Override
  public List<Path> strayLeaves() {
    return List.of();
  }

  @Override
  public int lastLeaf() {
    return 0;
  }

  @Override
  public List<Path> lanePaths() {
    return List.of();
  }

  /** There is none: init lets an operator have more. */
  @Override
  public Optional<Path> createLane(int exec, int uid) {
    return Optional.empty();
  }

  @Override
  public void findLane(int exec) {}

  @Override
  public void moveInit(int pid, boolean intoLane) {}

  @Override
  public void killLeaf(int exec) throws KernelException {
    kill();
  }

  @Override
  public void endLeaf(int exec) throws KernelException, InterruptedException {
    kill();
    awaitEmpty(Deadline.in(CgroupRemoval.BOUND));
  }

  @Override
  public void removeLeaf(int exec) {}

  /** Of an exec whose shepherd is dead, all of the box that has no other. */
  @Override
  public List<Integer> leafProcs(int exec, int shepherd) {
    Init known = init;
    if (known == null || shepherd == 0) {
      return List.of();
    }
    var members = ProcFs.tree(known.ref.pid());
    int top = known.ref.pid();
    int root =
        members.values().stream()
            .filter(stat -> isShepherd(stat, top))
            .map(ProcFs.Stat::pid)
            .filter(pid -> ProcFs.pidInside(pid).filter(inside -> inside == shepherd).isPresent())
            .findFirst()
            .orElse(top);
    return members.keySet().stream().filter(pid -> isHerded(members, pid, root, top)).toList();
  }

  /** KERNEL: nobody can join a session, and whatever a shepherd starts leaves that of init. */
  private static boolean isShepherd(ProcFs.Stat stat, int top) {
    return stat.parent() == top && stat.session() == top;
  }

  /** Whether the first above it, of init and the shepherds, is {@code root}. */
  private static boolean isHerded(Map<Integer, ProcFs.Stat> members, int pid, int root, int top) {
    var each = members.get(pid);
    for (int i = 0; each != null && i < members.size(); i++) {
      if (each.pid() == top || isShepherd(each, top)) {
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
