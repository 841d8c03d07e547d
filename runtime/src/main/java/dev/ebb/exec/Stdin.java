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
 * The writing end of a command's stdin; a command that does not read it just lets it wait.
 * Thread-safe: of several writers one writes, all it has, and the others wait.
 */
public final class Stdin {
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private final Scope scope;
  private final Fd reader;
  private final Fd pipe;
  private final Readiness writable;

  /** RACE: a readiness wakes one waiter, and the close of it no more than that. */
  private final OrderedLock writing = new OrderedLock(LockOrder.STDIN_WRITE);

  /** The reading end belongs to {@code passing}: it is for the command. */
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

  /** Writes all, waiting for the command to read; false when it no longer does. */
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
      // Closed by the command, or by us because it ended.
      if (e.is(Errno.EPIPE) || e.is(Errno.EBADF)) {
        return false;
      }
      throw new IllegalStateException(e);
    } finally {
      writing.unlock();
    }
  }

  /** The command sees the end of its input. */
  public void close() {
    try {
      scope.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }
}
