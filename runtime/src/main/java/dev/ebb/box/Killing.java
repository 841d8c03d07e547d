package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxId;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Kills the processes of one box by every means there is. A listing or a means that fails does not
 * stop the others; {@link #awaitEmpty} observes the result.
 */
final class Killing {
  private static final Logger LOG = System.getLogger(Killing.class.getName());

  /** How long a kill of the whole cgroup may take before members are killed one by one. */
  private static final Duration AT_ONCE_BOUND = Duration.ofSeconds(1);

  private final BoxId id;
  private final Enclosure enclosure;
  private final Patience patience;
  private @Nullable KernelException failure;

  Killing(BoxId id, Enclosure enclosure, Patience patience) {
    this.patience = patience;
    this.id = id;
    this.enclosure = enclosure;
  }

  /** One way to kill. */
  interface Means {
    void run() throws KernelException, InterruptedException;
  }

  /** Returns the living members, for the certificate; empty if they cannot be listed. */
  List<Integer> members() {
    try {
      Step.LIST_MEMBERS.reach();
      return enclosure.procs();
    } catch (KernelException e) {
      note("event=members_unknown, killing all the same", e);
      return List.of();
    }
  }

  void killAll() throws InterruptedException {
    attempt(
        () -> {
          Step.KILL_BOX.reach();
          enclosure.kill();
        });
  }

  void attempt(Means means) throws InterruptedException {
    try {
      means.run();
    } catch (KernelException e) {
      note("event=kill_failed, trying by other means", e);
    }
  }

  private void note(String event, KernelException e) {
    LOG.log(Level.WARNING, event + " box=" + id + " reason=\"" + e.getMessage() + "\"");
    if (failure == null) {
      failure = e;
    } else {
      failure.addSuppressed(e);
    }
  }

  /** Returns false if members are still alive at the deadline. */
  boolean awaitEmpty(Deadline deadline) throws KernelException, InterruptedException {
    try {
      if (patience.await(deadline.sooner(AT_ONCE_BOUND), enclosure::awaitEmpty)) {
        return true;
      }
      if (deadline.isOver() || patience.isOver()) {
        return false;
      }
      attempt(enclosure::killEach);
      return patience.await(deadline, enclosure::awaitEmpty);
    } catch (KernelException e) {
      if (failure != null) {
        e.addSuppressed(failure);
      }
      throw e;
    }
  }
}
