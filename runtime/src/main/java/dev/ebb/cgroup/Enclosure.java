package dev.ebb.cgroup;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.process.ProcessRef;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What holds the processes of one box together, so that none is missed when they are counted or
 * ended: its cgroups or, on a host that gives us none, its pid namespace.
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

  /** Its init is known, perhaps before it has said anything. */
  void known(Pidfd init);

  /**
   * Its init has said hello, and whoever made it is gone.
   *
   * @return whom the next runtime must find to end the box; empty where {@link #paths} suffice
   */
  Optional<ProcessRef> settled(Pidfd init);

  /** False when nobody can be in it: it was never made, or is gone. */
  boolean exists();

  /** Every living process in it, by its host pid. */
  List<Integer> procs() throws KernelException;

  /** A process, dead or alive, is or was in it. */
  boolean holds(int pid);

  /** Kills every process in it, now and without waiting. */
  void kill() throws KernelException;

  /** Kills its members one by one: for those who outlived {@link #kill}, as if it had no effect. */
  void killEach() throws KernelException;

  /** After a kill, and empty: lets another first process be born in it. */
  void renew() throws KernelException;

  /** False when members are still alive at the deadline. */
  boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException;

  /**
   * Removes what was made; what is absent is success.
   *
   * @return how many of {@link #paths} and {@link #lanePaths} there were
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

  /** Readable when the OOM killer is about to strike; empty where nobody need be told. */
  Optional<Fd> oomEvents(Scope scope) throws KernelException;

  /** How often the OOM killer struck, as far as the kernel tells. */
  long oomKills() throws KernelException;

  /** What its commands used by the kernel's own count; empty where only init can tell. */
  Optional<CgroupUsage> usage() throws KernelException;

  /** What its commands take now; empty where no cgroup counts it. */
  Optional<Occupancy> occupancy() throws KernelException;

  /** What its commands had to wait for; empty where the kernel keeps no such account. */
  Optional<Pressure> pressure() throws KernelException;

  /** Makes the place of one exec, for {@code uid} to start it in; empty where there is none. */
  Optional<Path> createLeaf(int exec, int uid) throws KernelException;

  /** Of a box that another engine made: whatever has a place keeps it. */
  void findLeaves();

  /** Nobody will remove the place of this exec any more. */
  void abandonLeaf(int exec);

  /** Places of execs that nobody will remove, in a box that lives. */
  List<Path> strayLeaves();

  /** The highest number of an exec that has a place; 0: none. */
  int lastLeaf();

  /** The directories that {@link #createLane} will make: what the ledger must list before. */
  List<Path> lanePaths();

  /** Makes the place of an operator's exec, beside the limits of all others. */
  Optional<Path> createLane(int exec, int uid) throws KernelException;

  /** Of a box that another engine made: this exec is an operator's. */
  void findLane(int exec);

  /** What init starts while it is in the lane has the limits of the lane, not the box's. */
  void moveInit(int pid, boolean intoLane) throws KernelException;

  /** Kills what init should have killed: the exec, or where it cannot be told apart, the box. */
  void killLeaf(int exec) throws KernelException;

  /** Kills what is left of an exec whose init is gone, and waits for it. */
  void endLeaf(int exec) throws KernelException, InterruptedException;

  void removeLeaf(int exec) throws KernelException;

  /**
   * The living processes of an exec, by their host pids.
   *
   * @param shepherd the pid inside of what adopts them; 0 where the kernel knows them itself
   */
  List<Integer> leafProcs(int exec, int shepherd) throws KernelException;
}
