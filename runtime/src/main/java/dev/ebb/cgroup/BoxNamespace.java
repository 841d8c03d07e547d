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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a box on a host without cgroups: those of its pid namespace, which the kernel
 * ends with its init; and until init is known, those of the session that makes it.
 *
 * <p>Execs are told apart by init only, so what init cannot end takes the box along. Thread-safe.
 */
public final class BoxNamespace implements Enclosure {
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final String box;
  private volatile @Nullable Session making;
  private volatile @Nullable Init init;

  private record Init(ProcessRef ref, Pidfd pidfd) {}

  /** Of the box with this id, which stands in the command line of whatever makes it. */
  public BoxNamespace(String box) {
    this.box = box;
  }

  /** Its making has begun: {@code outside} leads the session of all that takes part. */
  public void begun(ProcessRef outside) {
    making = new Session(outside, box);
  }

  /** Its init has said hello, and whoever made it is gone. */
  public void settled(Pidfd pidfd) {
    known(pidfd);
    making = null;
  }

  /** Its init is known, perhaps before it has said anything. */
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

  /** KERNEL: init can be reaped only when all of its namespace has been; so its end proves all. */
  @Override
  public boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException {
    while (!isEmpty()) {
      if (deadline.isOver()) {
        return false;
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      kill();
    }
    return true;
  }

  private boolean isEmpty() {
    Init known = init;
    Session session = making;
    return (known == null || !known.ref.exists())
        && (session == null || session.members().isEmpty());
  }

  @Override
  public void remove() {}

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
  public Optional<Path> createLeaf(int exec, int uid) {
    return Optional.empty();
  }

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
    if (known == null) {
      return List.of();
    }
    var all = ProcFs.tree(known.ref.pid());
    all.remove(known.ref.pid());
    int root =
        all.keySet().stream()
            .filter(pid -> ProcFs.pidInside(pid).filter(inside -> inside == shepherd).isPresent())
            .findFirst()
            .orElse(0);
    return all.keySet().stream()
        .filter(pid -> root == 0 || (pid != root && ProcFs.descends(all, pid, root)))
        .toList();
  }
}
