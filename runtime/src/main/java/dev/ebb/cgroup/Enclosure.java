package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.process.ProcessRef;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Holds the processes of one box together, so that none is missed when they are counted or ended:
 * its cgroups or, on a host without usable cgroups, its pid namespace.
 */
public interface Enclosure {
  /** The directories it will make, one a hierarchy: what the ledger must list. */
  List<Path> paths();

  /** Makes it, with its limits, for processes of {@code uid}. */
  void create(CgroupLimits limits, int uid) throws KernelException;

  /** Changes the limits of what was made with {@code from}. */
  void limit(CgroupLimits from, CgroupLimits to) throws KernelException;

  Placement placement();

  /** The making of the box has begun: {@code outside} leads the session of all that takes part. */
  void begun(ProcessRef outside);

  /** Called when its init is known, perhaps before init has sent anything. */
  void known(Pidfd init);

  /**
   * Called when its init has sent HELLO, and the process that made it is gone.
   *
   * @return the process that the next runtime must find to end the box; empty where {@link #paths}
   *     suffice
   */
  Optional<ProcessRef> settled(Pidfd init);

  /** False when no process can be in it: it was never made, or is gone. */
  boolean exists();

  /** Every living process in it, by its host pid. */
  List<Integer> procs() throws KernelException;

  /** A process, dead or alive, is or was in it. */
  boolean holds(int pid);

  /** Kills every process in it, now and without waiting. */
  void kill() throws KernelException;

  /**
   * Kills its members one by one: for those that outlived {@link #kill}, as if it had no effect.
   */
  void killEach() throws KernelException;

  /** After a kill, and empty: lets another first process start in it. */
  void renew() throws KernelException;

  /** False when members are still alive at the deadline. */
  boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException;

  /**
   * Removes what was made; what is absent is success.
   *
   * @return how many of {@link #paths} and {@link Leaves#lanePaths} there were
   */
  int remove() throws KernelException;

  /** Whether its commands can be made to stand still. */
  boolean canFreeze();

  /**
   * Makes the commands stand still, or go on, and waits until they do.
   *
   * @throws KernelException EBUSY when one would not stand still; then all go on
   */
  void freeze(boolean frozen, Deadline deadline) throws KernelException;

  /** Whether they stand still. */
  boolean isFrozen() throws KernelException;

  /** The init of a box that another engine made; empty: it is dead. */
  Optional<ProcessRef> findInit() throws KernelException;

  /** The places of its execs. */
  Leaves leaves();

  /** What the kernel counts of its commands. */
  Accounting accounting();
}
