package dev.ebb.box;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How long killed processes may take to be gone. An engine that closes can end all waits, including
 * those that have begun; a process that still exists then is stuck and stays on the ledger.
 * Thread-safe.
 */
public final class Patience {
  private static final Duration DEATH_BOUND = Duration.ofSeconds(10);

  /** The time that each process gets, however late it is killed: most are gone in a millisecond. */
  private static final Duration LEAST = Duration.ofMillis(500);

  private static final Duration SLICE = Duration.ofMillis(100);

  private volatile @Nullable Deadline end;

  public Patience() {}

  /** Ends every wait by {@code last} from now on. */
  public void endAt(Deadline last) {
    end = last;
  }

  /** Returns whether the time of all waits is over. */
  public boolean isOver() {
    Deadline last = end;
    return last != null && last.isOver();
  }

  /** Returns the deadline of a process that is killed now. */
  Deadline death() {
    return Deadline.in(DEATH_BOUND);
  }

  /** A condition to wait for. */
  interface Wait {
    boolean await(Deadline deadline) throws KernelException, InterruptedException;
  }

  /** Waits, in slices; returns false if the condition is not met in time. */
  boolean await(Deadline deadline, Wait wait) throws KernelException, InterruptedException {
    Deadline least = Deadline.in(LEAST);
    while (!wait.await(deadline.sooner(SLICE))) {
      if (deadline.isOver() || (isOver() && least.isOver())) {
        return false;
      }
    }
    return true;
  }
}
