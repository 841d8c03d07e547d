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
 * The engine's end of the socket that is the stdin of a command, for requests and answers. It
 * receives no descriptor from the command, and this process closes none that the command sent.
 * Thread-safe.
 */
public final class RunnerSocket {
  private static final int CHUNK = 64 * 1024;
  private static final Duration SEND_RETRY = Duration.ofNanos(200_000);

  /** For tests: handles messages of a box as on a kernel older than 6.16. */
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

  /** Receives the messages of the command, on the poller's thread: it must not wait. */
  public interface Listener {
    /** Receives some bytes, valid only during the call; returns false to receive no more. */
    boolean received(byte[] bytes, int length);

    /**
     * Called when the command and all processes that inherited it have closed it, and so has the
     * engine.
     */
    void ended();
  }

  /** Makes the socket; the peer, which the command gets, belongs to {@code passing}. */
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
    // ORDER: closed before the scope above, not only by it.
    parent.own(this::close);
  }

  Fd peer() {
    return peer;
  }

  /** Begins to receive; call once. */
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
      // SAFETY: descriptors that a command sends along are never received.
      int bytes = socket.receiveBytes(chunk);
      if (bytes == 0) {
        end(listener);
      } else if (bytes < 0 || listener.received(chunk, bytes)) {
        if (watch != null) {
          watch.rearm();
        }
      }
    } catch (KernelException e) {
      // RACE: closed meanwhile; or the message cannot be received.
      end(listener);
    } finally {
      receiving.unlock();
    }
  }

  private void end(Listener listener) {
    close();
    listener.ended();
  }

  /** Sends all bytes; returns false on a timeout, or if the command no longer reads. */
  public boolean send(byte[] bytes, Deadline deadline) {
    sending.lock();
    try {
      for (int done = 0; done < bytes.length; ) {
        int n = socket.send(bytes, done, bytes.length - done, java.util.List.of());
        if (n > 0) {
          done += n;
        } else if (Thread.currentThread().isInterrupted() || !deadline.pause(SEND_RETRY)) {
          // Reached only for messages longer than the socket buffer.
          return false;
        }
      }
      return true;
    } catch (KernelException e) {
      // Closed by the command, or by this process because it ended.
      return false;
    } finally {
      sending.unlock();
    }
  }

  /** Closes it; the command sees the end of the stream. */
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

  /** RACE: the last thread that uses the descriptor closes it. */
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
