package dev.ebb.exec;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The engine's end of the socket that a command has as its stdin, to be spoken to and to answer.
 * Thread-safe.
 */
public final class Line {
  private static final int CHUNK = 64 * 1024;
  private static final long SEND_RETRY_NANOS = 200_000;

  private final Scope scope;
  private final Poller poller;
  private final UnixSocket socket;
  private final Fd peer;
  private final ReentrantLock sending = new ReentrantLock();
  private final byte[] chunk = new byte[CHUNK];
  private Poller.@Nullable Watch watch;

  /** Hears what the command says, on the poller's thread: it must not wait. */
  public interface Listener {
    /** Some more bytes, which are the caller's again afterwards; false: no more of them. */
    boolean heard(byte[] bytes, int length);

    /** The command, and all who had it from it, have closed it, as we have now. */
    void ended();
  }

  /** The peer belongs to {@code passing}: it is for the command. */
  Line(Scope parent, Scope passing, Poller poller) throws KernelException {
    this.poller = poller;
    scope = Scope.in(parent);
    UnixSocket.Pair pair = UnixSocket.pair(scope, passing);
    socket = pair.ours();
    peer = pair.peer();
  }

  Fd peer() {
    return peer;
  }

  /** To be called once. */
  public synchronized void listen(Listener listener) throws KernelException {
    watch = poller.watch(scope, socket.fd(), Poller.Interest.READ, () -> receive(listener));
  }

  private synchronized void receive(Listener listener) {
    // SAFETY: whatever descriptors a command sends along are closed at once.
    try (var uninvited = new Scope()) {
      UnixSocket.Received some = socket.receive(uninvited, chunk);
      if (!some.fds().isEmpty()) {
        throw new KernelException("take descriptors from a command", Errno.EINVAL);
      }
      if (some.bytes() == 0) {
        end(listener);
      } else if (some.bytes() < 0 || listener.heard(chunk, some.bytes())) {
        if (watch != null) {
          watch.rearm();
        }
      }
    } catch (KernelException e) {
      // RACE: closed meanwhile; or what was sent cannot be taken.
      end(listener);
    }
  }

  private void end(Listener listener) {
    close();
    listener.ended();
  }

  /** Sends all; false when the command has not read it in time, or no longer does. */
  public boolean send(byte[] bytes, Deadline deadline) {
    sending.lock();
    try {
      for (int done = 0; done < bytes.length; ) {
        int n = socket.send(bytes, done, bytes.length - done, java.util.List.of());
        if (n > 0) {
          done += n;
        } else if (deadline.isOver() || Thread.currentThread().isInterrupted()) {
          return false;
        } else {
          // Only what is longer than the socket's buffer gets here.
          LockSupport.parkNanos(SEND_RETRY_NANOS);
        }
      }
      return true;
    } catch (KernelException e) {
      // Closed by the command, or by us because it ended.
      return false;
    } finally {
      sending.unlock();
    }
  }

  /** The command sees the end of it. */
  public void close() {
    try {
      scope.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }
}
