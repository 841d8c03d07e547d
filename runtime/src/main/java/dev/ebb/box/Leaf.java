package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.kernel.KernelException;
import java.util.List;

/** The place of one exec in its box, a cgroup where there are cgroups. Thread-safe. */
public final class Leaf {
  private final Enclosure enclosure;
  private final int exec;

  Leaf(Enclosure enclosure, int exec) {
    this.enclosure = enclosure;
    this.exec = exec;
  }

  /**
   * The living processes of the exec, by their host pids.
   *
   * @param subreaper the pid inside of the process that adopts them; 0 where the kernel knows them
   */
  public List<Integer> procs(int subreaper) throws KernelException {
    return enclosure.leaves().procs(exec, subreaper);
  }

  /** Kills what init should have killed: the exec, or where it cannot be told apart, the box. */
  public void kill() throws KernelException {
    enclosure.leaves().kill(exec);
  }

  /** Kills what is left of an exec whose init is gone, and waits for it. */
  public void end() throws KernelException, InterruptedException {
    enclosure.leaves().end(exec);
  }

  /** Removes an empty one; no-op if absent. */
  public void remove() throws KernelException {
    enclosure.leaves().remove(exec);
  }

  /** Leaves it to the next sweep. */
  public void abandon() {
    enclosure.leaves().abandon(exec);
  }

  /** The exec is an operator's, and another engine started it. */
  public void foundInLane() {
    enclosure.leaves().findInLane(exec);
  }
}
