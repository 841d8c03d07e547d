package dev.ebb.box;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How long killed processes may take to be gone. An engine that goes down can end all waits, also
 * those that have begun: a process that is not gone by then is stuck, and stays on the ledger.
 * Thread-safe.
 */
public final class Patience {
  private static final Duration DEATH_BOUND = Duration.ofSeconds(10);

  /** What each process has, however late it is: most are gone in a millisecond. */
  private static final Duration LEAST = Duration.ofMillis(500);

  private static final Duration SLICE = Duration.ofMillis(100);

  private volatile @Nullable Deadline end;

  public Patience() {}

  /** From now on no wait lasts beyond {@code last}. */
  public void endAt(Deadline last) {
    end = last;
  }

  /** Whether the last moment for any wait has come. */
  public boolean isOver() {
    Deadline last = end;
    return last != null && last.isOver();
  }

  /** The deadline of a process that is killed now. */
  Deadline death() {
    return Deadline.in(DEATH_BOUND);
  }

  /** Something to wait for. */
  interface Wait {
    boolean await(Deadline deadline) throws KernelException, InterruptedException;
  }

  /** Waits, in slices; false when it has not come in time. */
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
