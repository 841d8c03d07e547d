package dev.ebb.exec;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * The reading end of a command's stdout. Nothing is stored: the command writes no faster than the
 * reader reads. For one reader at a time.
 */
final class PipedOutput {
  /** How often a waiting reader checks whether a writer is left. */
  private static final Duration LOOK = Duration.ofSeconds(1);

  private final Fd writer;
  private final Fd pipe;
  private final Readiness readable;

  /** Makes the pipe; the writing end, which the command gets, belongs to {@code passing}. */
  PipedOutput(Scope scope, Scope passing, Poller poller) throws KernelException {
    Fd.Pipe ends = Fd.pipe(scope, passing);
    pipe = ends.read();
    writer = ends.write();
    pipe.nonBlocking();
    readable = new Readiness(scope, poller, pipe, Poller.Interest.READ);
  }

  Fd writer() {
    return writer;
  }

  /**
   * Waits for some bytes; returns 0 at the end.
   *
   * @param isOver whether the command has ended. SAFETY: another process of the box may keep the
   *     writing end.
   */
  int read(byte[] buffer, BooleanSupplier isOver) throws InterruptedException {
    try {
      while (true) {
        boolean isLast = isOver.getAsBoolean();
        readable.arm();
        int n = pipe.read(buffer, 0, buffer.length);
        if (n >= 0 || isLast) {
          return Math.max(n, 0);
        }
        var _ = readable.await(Deadline.in(LOOK));
      }
    } catch (KernelException e) {
      if (e.is(Errno.EBADF)) {
        return 0;
      }
      throw SandboxException.internal(e);
    }
  }
}
