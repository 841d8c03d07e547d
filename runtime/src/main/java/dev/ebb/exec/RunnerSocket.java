package dev.ebb.exec;

import dev.ebb.init.Discards;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The engine's end of the socket that a command has as its stdin, to be spoken to and to answer. It
 * takes no descriptor from the command, and none that the command sent is closed by this process.
 * Thread-safe.
 */
public final class RunnerSocket {
  private static final int CHUNK = 64 * 1024;
  private static final Duration SEND_RETRY = Duration.ofNanos(200_000);

  /** For tests: what came from a box is met as on a kernel older than 6.16. */
  private static final boolean IS_OLD_KERNEL = Boolean.getBoolean("ebb.oldkernel");

  private final Scope scope;
  private final Poller poller;
  private final Discards discards;
  private final UnixSocket socket;
  private final Fd peer;
  private final OrderedLock receiving = new OrderedLock(LockOrder.RUNNER_SOCKET_RECEIVE);
  private final OrderedLock sending = new OrderedLock(LockOrder.RUNNER_SOCKET_SEND);
  private final byte[] chunk = new byte[CHUNK];
  private final AtomicBoolean isClosing = new AtomicBoolean();
  private Poller.@Nullable Watch watch;

  /** Hears what the command says, on the poller's thread: it must not wait. */
  public interface Listener {
    /** Some more bytes, which are the caller's again afterwards; false: no more of them. */
    boolean heard(byte[] bytes, int length);

    /** The command, and all processes that inherited it, have closed it, and so have we. */
    void ended();
  }

  /** The peer belongs to {@code passing}: it is for the command. */
  RunnerSocket(Scope parent, Scope passing, Poller poller, Discards discards)
      throws KernelException {
    this.poller = poller;
    this.discards = discards;
    scope = Scope.in(parent);
    UnixSocket.Pair pair = UnixSocket.pair(scope, passing);
    socket = pair.ours();
    peer = pair.peer();
    if (!IS_OLD_KERNEL) {
      var _ = socket.passDescriptors(false);
    }
    // ORDER: closed before the scope above, and not by it alone.
    parent.own(this::close);
  }

  Fd peer() {
    return peer;
  }

  /** To be called once. */
  public void listen(Listener listener) throws KernelException {
    receiving.lock();
    try {
      watch = poller.watch(scope, socket.fd(), Poller.Interest.READ, () -> receive(listener));
    } finally {
      receiving.unlock();
    }
  }

  private void receive(Listener listener) {
    receiving.lock();
    try {
      // SAFETY: whatever descriptors a command sends along are never taken.
      int bytes = socket.receiveBytes(chunk);
      if (bytes == 0) {
        end(listener);
      } else if (bytes < 0 || listener.heard(chunk, bytes)) {
        if (watch != null) {
          watch.rearm();
        }
      }
    } catch (KernelException e) {
      // RACE: closed meanwhile; or what was sent cannot be taken.
      end(listener);
    } finally {
      receiving.unlock();
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
        } else if (Thread.currentThread().isInterrupted() || !deadline.pause(SEND_RETRY)) {
          // Only what is longer than the socket's buffer gets here.
          return false;
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
    if (isClosing.getAndSet(true)) {
      return;
    }
    receiving.lock();
    try {
      if (watch != null) {
        watch.close();
      }
      if (socket.drain()) {
        scope.close();
      } else {
        var held = new Scope();
        scope.moveTo(held);
        scope.close();
        discards.discard(socket.fd(), () -> closeUnused(held));
      }
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    } finally {
      receiving.unlock();
    }
  }

  /** RACE: a thread that still uses the descriptor would be the one to close it. */
  private void closeUnused(Scope held) {
    receiving.lock();
    sending.lock();
    try {
      held.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    } finally {
      sending.unlock();
      receiving.unlock();
    }
  }
}
