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
  /** Returns the directories it will make, one a hierarchy: the ledger must list them. */
  List<Path> paths();

  /** Makes it, with its limits, for processes of {@code uid}. */
  void create(CgroupLimits limits, int uid) throws KernelException;

  /** Changes limits that were made as {@code from}. */
  void limit(CgroupLimits from, CgroupLimits to) throws KernelException;

  Placement placement();

  /**
   * Called when the making of the box begins: {@code outside} leads the session of all that takes
   * part.
   */
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

  /** Returns false when no process can be in it: it was never made, or is gone. */
  boolean exists();

  /** Returns every living process in it, by its host pid. */
  List<Integer> procs() throws KernelException;

  /** Returns whether a process, dead or alive, is or was in it. */
  boolean holds(int pid);

  /** Kills every process in it, now and without waiting. */
  void kill() throws KernelException;

  /**
   * Kills its members one by one: for those that outlived {@link #kill}, as if it had no effect.
   */
  void killEach() throws KernelException;

  /** Lets another first process start in it, after a kill, when it is empty. */
  void renew() throws KernelException;

  /** Returns false when members are still alive at the deadline. */
  boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException;

  /**
   * Removes the cgroups that were made; an absent cgroup counts as success.
   *
   * @return how many of {@link #paths} and {@link Leaves#lanePaths} there were
   */
  int remove() throws KernelException;

  /** Returns whether its commands can be frozen. */
  boolean canFreeze();

  /**
   * Freezes the commands or thaws them, and waits until that is done.
   *
   * @throws KernelException EBUSY when a process would not freeze; then all are thawed
   */
  void freeze(boolean frozen, Deadline deadline) throws KernelException;

  /** Returns whether the commands are frozen. */
  boolean isFrozen() throws KernelException;

  /** Returns the init of a box that another engine made; empty: it is dead. */
  Optional<ProcessRef> findInit() throws KernelException;

  /** Returns the places of its execs. */
  Leaves leaves();

  /** Returns what the kernel counts of its commands. */
  Accounting accounting();
}
