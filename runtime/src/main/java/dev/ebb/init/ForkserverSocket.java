package dev.ebb.init;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;

/**
 * The engine's end of the socket of a forkserver: orders for boxes go there, and READY comes back.
 * The result of an order arrives on the control socket of its box. Thread-safe.
 */
public final class ForkserverSocket {
  private static final Duration SEND_RETRY = Duration.ofMillis(1);

  private final UnixSocket socket;
  private final OrderedLock sending = new OrderedLock(LockOrder.FORKSERVER_SEND);

  private ForkserverSocket(UnixSocket socket) {
    this.socket = socket;
  }

  /** Both ends: the peer's is for the forkserver. */
  public record Pair(ForkserverSocket ours, Fd peer) {}

  /** The messages of a forkserver. */
  public enum Word {
    NOTHING,
    READY,
    /** It is gone, or sent an invalid message. */
    END
  }

  public static Pair pair(Scope scope, Scope passing) throws KernelException {
    UnixSocket.Pair both = UnixSocket.pair(scope, passing);
    return new Pair(new ForkserverSocket(both.ours()), both.peer());
  }

  public Fd fd() {
    return socket.fd();
  }

  /** Receives the next message, without waiting for one. */
  public Word receive() throws KernelException {
    byte[] word = new byte[Protocol.HEADER_SIZE];
    int bytes = socket.receiveBytes(word);
    if (bytes < 0) {
      return Word.NOTHING;
    }
    return bytes == word.length && type(word) == Protocol.MESSAGE_READY ? Word.READY : Word.END;
  }

  private static int type(byte[] header) {
    return ByteBuffer.wrap(header).order(Protocol.buffer(0).order()).getShort(4);
  }

  /**
   * Sends an order and its descriptors. KERNEL: it is less than a page, so it is sent whole or not
   * at all.
   *
   * @return false when the forkserver has not taken it in time
   */
  public boolean send(CloneOrder order, List<Fd> fds, Duration patience) throws KernelException {
    byte[] bytes = Protocol.order(order, fds.size());
    sending.lock();
    try {
      Deadline deadline = Deadline.in(patience);
      while (socket.send(bytes, 0, bytes.length, fds) < 0) {
        if (!deadline.pause(SEND_RETRY)) {
          return false;
        }
      }
      return true;
    } finally {
      sending.unlock();
    }
  }
}
