package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Signal;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Session;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a box on a host without cgroups: those of its pid namespace, which the kernel
 * ends with its init; and until init is known, those of the session that makes it.
 *
 * <p>Only init distinguishes the execs, so an exec that init cannot end takes the box along.
 * Thread-safe.
 */
public final class BoxNamespace implements Enclosure {
  private static final Duration LOOK_AGAIN = Duration.ofMillis(1);

  private final String box;
  private final Leaves leaves = new NamespaceLeaves(this);
  private volatile @Nullable Session making;
  private volatile @Nullable Init init;

  private record Init(ProcessRef ref, Pidfd pidfd) {}

  /** Makes the enclosure of the box with this id, which is in the command line of its maker. */
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
    return init();
  }

  @Override
  public void known(Pidfd pidfd) {
    // This process must reap it, so it exists, dead or alive, until then.
    ProcessRef.of(pidfd.pid()).ifPresent(ref -> init = new Init(ref, pidfd));
  }

  @Override
  public List<Path> paths() {
    return List.of();
  }

  /** Makes nothing: init sets limits, process by process. */
  @Override
  public void create(CgroupLimits limits, int uid) {}

  /** Does nothing: init sets the limits of each command. */
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
   * KERNEL: an orphan in a pid namespace falls to its init, so all of it descends from there. To
   * ask for the namespace itself needs a permission that root of a container lacks.
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

  /** SAFETY: only the ledger identifies init; by its looks it could be any process. */
  @Override
  public Optional<ProcessRef> findInit() {
    return Optional.empty();
  }

  @Override
  public Leaves leaves() {
    return leaves;
  }

  @Override
  public Accounting accounting() {
    return Accounting.NONE;
  }

  /** The init of the box, once it is known. */
  Optional<ProcessRef> init() {
    return Optional.ofNullable(init).map(Init::ref);
  }
}
