package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Pidfd;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntPredicate;

/**
 * Reaps processes of boxes that reparent to this process, and none that other code waits for.
 *
 * <p>Never waits for "any child": in an embedding JVM that would steal exits from {@code
 * java.lang.Process}. A zombie of a box is ours at once; any other one is an orphan of the
 * application which we adopted as its subreaper, and is reaped only when it was not claimed for a
 * while. Thread-safe.
 */
public final class Reaper {
  private static final Logger LOG = System.getLogger(Reaper.class.getName());

  private final InstantSource clock;
  private final Duration patience;
  private final OrderedLock lock = new OrderedLock(LockOrder.REAPER);
  private final Map<ProcessRef, Instant> strangers = new HashMap<>();

  public Reaper(InstantSource clock, Duration patience) {
    this.clock = clock;
    this.patience = patience;
  }

  /**
   * Reaps the zombie children that are {@code ours}, and strangers out of patience.
   *
   * @return how many were reaped
   */
  public int reap(IntPredicate ours) throws KernelException {
    lock.lock();
    try {
      int reaped = 0;
      var seen = new HashMap<ProcessRef, Instant>();
      for (int pid : ProcFs.children()) {
        var stat = ProcFs.stat(pid).filter(ProcFs.Stat::isZombie).orElse(null);
        if (stat == null) {
          continue;
        }
        var ref = new ProcessRef(pid, stat.startTime());
        Instant first = strangers.getOrDefault(ref, clock.instant());
        if (ours.test(pid) || !clock.instant().isBefore(first.plus(patience))) {
          reaped += reapZombie(pid);
        } else {
          seen.put(ref, first);
        }
      }
      strangers.clear();
      strangers.putAll(seen);
      return reaped;
    } finally {
      lock.unlock();
    }
  }

  /** Looks after strangers only: must be called now and then. */
  public void reapStrangers() {
    try {
      reap(pid -> false);
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=reap_failed reason=\"{0}\" ignoring", e.getMessage());
    }
  }

  private static int reapZombie(int pid) throws KernelException {
    try {
      return Pidfd.reapZombie(pid).isPresent() ? 1 : 0;
    } catch (KernelException e) {
      // Another thread waited for it meanwhile; it is gone.
      if (e.is(Errno.ECHILD)) {
        return 0;
      }
      throw e;
    }
  }
}
