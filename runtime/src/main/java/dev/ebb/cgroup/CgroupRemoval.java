package dev.ebb.cgroup;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Removes cgroups: plain rmdir first, silently. Only a busy cgroup is logged, counted and killed.
 * Thread-safe.
 */
public final class CgroupRemoval {
  private static final Logger LOG = System.getLogger(CgroupRemoval.class.getName());

  /** How long a busy cgroup is retried. */
  static final Duration BOUND = Duration.ofSeconds(2);

  private static final Duration RETRY = Duration.ofMillis(2);

  private final EmptyWait emptyWait;
  private final AtomicLong leaks = new AtomicLong();

  public CgroupRemoval(EmptyWait emptyWait) {
    this.emptyWait = emptyWait;
  }

  /** How many cgroups had members or children when they should have been empty. */
  public long leaks() {
    return leaks.get();
  }

  /**
   * Removes {@code cgroup} and whatever lies below it; an absent one is success.
   *
   * @return false when it was absent
   * @throws KernelException EBUSY when it outlived the bound, EINTR when the thread was interrupted
   */
  public boolean remove(Cgroup cgroup) throws KernelException {
    Attempt first = rmdir(cgroup);
    if (first != Attempt.BUSY) {
      return first == Attempt.REMOVED;
    }
    leaks.incrementAndGet();
    LOG.log(Level.WARNING, "event=cgroup_busy errno=EBUSY path={0}", cgroup.path());
    try {
      removeBusy(cgroup, Deadline.in(BOUND));
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KernelException("remove " + cgroup.path(), Errno.EINTR);
    }
  }

  /** Removes it if one rmdir does; false when it is busy, which is not logged. */
  boolean tryRemove(Cgroup cgroup) throws KernelException {
    return rmdir(cgroup) != Attempt.BUSY;
  }

  private void removeBusy(Cgroup cgroup, Deadline deadline)
      throws KernelException, InterruptedException {
    boolean isRemoved;
    do {
      cgroup.kill();
      if (cgroup.isVersion2()) {
        emptyWait.await(cgroup, deadline);
      }
      isRemoved = true;
      for (Cgroup each : cgroup.bottomUp()) {
        isRemoved &= rmdir(each) != Attempt.BUSY;
      }
      if (!isRemoved && Thread.interrupted()) {
        throw new InterruptedException();
      }
      // KERNEL: rmdir may be busy for a moment after "populated 0", and v1 announces nothing.
    } while (!isRemoved && deadline.pause(RETRY));
    if (!isRemoved) {
      throw new KernelException("remove " + cgroup.path(), Errno.EBUSY);
    }
  }

  private enum Attempt {
    REMOVED,
    ABSENT,
    BUSY
  }

  private static Attempt rmdir(Cgroup cgroup) throws KernelException {
    try {
      Step.RMDIR_CGROUP.reach();
      return Filesystem.rmdirIfPresent(cgroup.path()) ? Attempt.REMOVED : Attempt.ABSENT;
    } catch (KernelException e) {
      // A directory of a plain file system, as unit tests use it, fails with ENOTEMPTY.
      if (e.is(Errno.EBUSY) || e.is(Errno.ENOTEMPTY)) {
        return Attempt.BUSY;
      }
      throw e;
    }
  }
}
