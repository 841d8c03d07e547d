package dev.ebb.exec;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import java.time.Duration;

/**
 * The writing end of a command's stdin. A write waits while the command does not read. Thread-safe:
 * one writer writes all its bytes while the others wait.
 */
public final class Stdin {
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private final Scope scope;
  private final Fd reader;
  private final Fd pipe;
  private final Readiness writable;

  /** RACE: a readiness, and its close, wakes only one waiter. */
  private final OrderedLock writing = new OrderedLock(LockOrder.STDIN_WRITE);

  /** Makes the pipe; the reading end, which the command gets, belongs to {@code passing}. */
  Stdin(Scope parent, Scope passing, Poller poller) throws KernelException {
    scope = Scope.in(parent);
    Fd.Pipe ends = Fd.pipe(passing, scope);
    reader = ends.read();
    pipe = ends.write();
    pipe.nonBlocking();
    writable = new Readiness(scope, poller, pipe, Poller.Interest.WRITE);
  }

  Fd reader() {
    return reader;
  }

  /** Writes all bytes, waiting for the command to read; returns false if it no longer reads. */
  public boolean write(byte[] bytes, int offset, int length) throws InterruptedException {
    writing.lockInterruptibly();
    try {
      int done = 0;
      while (done < length) {
        writable.arm();
        int n = pipe.write(bytes, offset + done, length - done);
        if (n >= 0) {
          done += n;
        } else {
          var _ = writable.await(Deadline.in(FOREVER));
        }
      }
      return true;
    } catch (KernelException e) {
      // Closed by the command, or by this process because it ended.
      if (e.is(Errno.EPIPE) || e.is(Errno.EBADF)) {
        return false;
      }
      throw new IllegalStateException(e);
    } finally {
      writing.unlock();
    }
  }

  /** Closes it; the command sees the end of its input. */
  public void close() {
    try {
      scope.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }
}
