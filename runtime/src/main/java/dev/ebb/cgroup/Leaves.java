package dev.ebb.cgroup;

import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The places of the execs in one box, by the number of the exec. Execs of an operator have theirs
 * in a lane of their own, outside the limits of the others.
 */
public interface Leaves {
  /** Makes the place of one exec, for {@code uid} to start it in; empty where there is none. */
  Optional<Path> create(int exec, int uid) throws KernelException;

  /** Takes over every place in a box that another engine made. */
  void find();

  /** Returns the highest number of an exec that has a place; 0: none. */
  int last();

  /** Called when the owner of a place will not remove it any more. */
  void abandon(int exec);

  /** Returns places without an owner that would remove them, in a box that lives. */
  List<Path> strays();

  /** The directories that {@link #createInLane} will make: the ledger must list them before. */
  List<Path> lanePaths();

  /** Makes the place of an operator's exec, outside the limits of the others. */
  Optional<Path> createInLane(int exec, int uid) throws KernelException;

  /** Notes that this exec, in a box that another engine made, is an operator's. */
  void findInLane(int exec);

  /**
   * Moves init into the lane or back: what it starts there has the limits of the lane, not the
   * box's.
   */
  void moveInit(int pid, boolean intoLane) throws KernelException;

  /** Kills what init should have killed: the exec or, without leaves, the box. */
  void kill(int exec) throws KernelException;

  /** Kills the remaining processes of an exec after the death of init, and waits for their end. */
  void end(int exec) throws KernelException, InterruptedException;

  void remove(int exec) throws KernelException;

  /**
   * Returns the living processes of an exec, by their host pids.
   *
   * @param subreaper the pid, in the box, of the process that adopts them; 0 where a cgroup holds
   *     them
   */
  List<Integer> procs(int exec, int subreaper) throws KernelException;
}
