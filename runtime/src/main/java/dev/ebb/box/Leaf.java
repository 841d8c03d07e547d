package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;

/** The leaf of one exec in its box, a cgroup where there are cgroups. Thread-safe. */
public final class Leaf {
  private static final Duration END_BOUND = Duration.ofSeconds(2);
  private static final Logger LOG = System.getLogger(Leaf.class.getName());

  private final BoxParts box;
  private final Enclosure enclosure;
  private final int exec;
  private final boolean isOwn;

  /**
   * Makes the leaf of {@code exec}.
   *
   * @param isOwn false: its backend has no leaves, so its processes cannot be distinguished from
   *     those of the box
   */
  Leaf(BoxParts box, int exec, boolean isOwn) {
    this.box = box;
    enclosure = box.enclosure();
    this.exec = exec;
    this.isOwn = isOwn;
  }

  /**
   * Returns the living processes of the exec, by host pid.
   *
   * @param subreaper the pid inside of the process that adopts them; 0 where the kernel knows them
   */
  public List<Integer> procs(int subreaper) throws KernelException {
    return isOwn ? enclosure.leaves().procs(exec, subreaper) : enclosure.procs();
  }

  /** Kills what init should have killed: the exec or, without leaves, the box. */
  public void kill() throws KernelException {
    if (isOwn) {
      reportStrangers();
      enclosure.leaves().kill(exec);
    } else {
      enclosure.kill();
    }
  }

  /** Kills the remaining processes of an exec after the death of init, and waits for their end. */
  public void end() throws KernelException, InterruptedException {
    if (isOwn) {
      reportStrangers();
      enclosure.leaves().end(exec);
    } else {
      enclosure.kill();
      enclosure.awaitEmpty(Deadline.in(END_BOUND));
    }
  }

  /** A listing that fails does not prevent the kill. */
  private void reportStrangers() {
    if (enclosure.paths().isEmpty()) {
      return;
    }
    try {
      box.host().strangers().lookInLeaf(enclosure.leaves().procs(exec, 0), box.id(), exec);
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=members_unknown box=" + box.id() + ", killing all the same", e);
    }
  }

  /** Removes an empty leaf; no-op if absent. */
  public void remove() throws KernelException {
    enclosure.leaves().remove(exec);
  }

  /** Leaves its removal to the next sweep. */
  public void abandon() {
    enclosure.leaves().abandon(exec);
  }

  /** Marks the exec as an operator's that another engine started. */
  public void foundInLane() {
    enclosure.leaves().findInLane(exec);
  }
}
