package dev.ebb.cgroup;

import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The places of the execs in one box, each by the number of its exec. The execs of an operator have
 * theirs in a lane of their own, beside the limits of all others.
 */
public interface Leaves {
  /** Makes the place of one exec, for {@code uid} to start it in; empty where there is none. */
  Optional<Path> create(int exec, int uid) throws KernelException;

  /** In a box that another engine made: keeps every place that is there. */
  void find();

  /** The highest number of an exec that has a place; 0: none. */
  int last();

  /** The place of this exec is not removed by its owner any more. */
  void abandon(int exec);

  /** Places without an owner that would remove them, in a box that lives. */
  List<Path> strays();

  /** The directories that {@link #createInLane} will make: the ledger must list them before. */
  List<Path> lanePaths();

  /** Makes the place of an operator's exec, beside the limits of all others. */
  Optional<Path> createInLane(int exec, int uid) throws KernelException;

  /** In a box that another engine made: this exec is an operator's. */
  void findInLane(int exec);

  /** What init starts while it is in the lane has the limits of the lane, not the box's. */
  void moveInit(int pid, boolean intoLane) throws KernelException;

  /** Kills what init should have killed: the exec, or where it cannot be told apart, the box. */
  void kill(int exec) throws KernelException;

  /** Kills what is left of an exec whose init is gone, and waits for it. */
  void end(int exec) throws KernelException, InterruptedException;

  void remove(int exec) throws KernelException;

  /**
   * The living processes of an exec, by their host pids.
   *
   * @param subreaper the pid inside of what adopts them; 0 where the kernel knows them itself
   */
  List<Integer> procs(int exec, int subreaper) throws KernelException;
}
