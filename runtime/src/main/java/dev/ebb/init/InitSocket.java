package dev.ebb.init;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The engine's end of the control socket of one box, whose init may be slow, or taken over.
 *
 * <p>A message that init does not take in time breaks nothing: either no byte of it was sent, or
 * the rest of it is sent before any later message. Only descriptors that were asked for are taken;
 * this process never closes another one. Thread-safe.
 */
final class InitSocket {
  private static final Duration SEND_RETRY = Duration.ofNanos(200_000);

  private final Scope line;
  private final UnixSocket socket;
  private final InitWire.Discarding discarding;
  private final AtomicBoolean isClosing = new AtomicBoolean();
  private final OrderedLock sending = new OrderedLock(LockOrder.INIT_SEND);

  /** The rest of a message whose beginning init has. */
  @GuardedBy("sending")
  private byte[] unsent = {};

  /** ORDER: the receive returns exactly the bytes that were peeked at. */
  private final OrderedLock receiving = new OrderedLock(LockOrder.INIT_RECEIVE);

  /** Returns whether a descriptor is one that was asked for. */
  interface Expected {
    boolean isThis(Fd fd) throws KernelException;
  }

  /** Both ends of the socket; {@code peer} is for init. */
  record Pair(InitSocket ours, Fd peer) {}

  private InitSocket(Scope line, UnixSocket socket, InitWire.Discarding discarding) {
    this.line = line;
    this.socket = socket;
    this.discarding = discarding;
  }

  /** Makes a pair; {@code ours} must be closed before {@code scope} is. */
  static Pair pair(Scope scope, Scope passing, InitWire.Discarding discarding)
      throws KernelException {
    Scope line = Scope.in(scope);
    UnixSocket.Pair both = UnixSocket.pair(line, passing);
    return new Pair(new InitSocket(line, both.ours(), discarding), both.peer());
  }

  /** Connects to an init that listens in {@code directory}. */
  static InitSocket connect(Scope scope, Fd directory, String name, InitWire.Discarding discarding)
      throws KernelException {
    Scope line = Scope.in(scope);
    return new InitSocket(line, UnixSocket.connect(line, directory, name), discarding);
  }

  Fd fd() {
    return socket.fd();
  }

  /**
   * Sends all bytes.
   *
   * @throws KernelException EAGAIN: init has not taken them in time
   */
  void send(byte[] bytes, List<Fd> fds, Deadline deadline) throws KernelException {
    sending.lock();
    try {
      unsent = rest(unsent, push(unsent, List.of(), deadline));
      if (unsent.length == 0) {
        int done = push(bytes, fds, deadline);
        if (done == bytes.length) {
          return;
        }
        unsent = done == 0 ? unsent : rest(bytes, done);
      }
      throw new KernelException("send to init in time", Errno.EAGAIN);
    } finally {
      sending.unlock();
    }
  }

  private static byte[] rest(byte[] bytes, int done) {
    return done == 0 ? bytes : Arrays.copyOfRange(bytes, done, bytes.length);
  }

  /** Returns how many bytes were sent. */
  private int push(byte[] bytes, List<Fd> fds, Deadline deadline) throws KernelException {
    int done = 0;
    while (done < bytes.length) {
      int n = socket.send(bytes, done, bytes.length - done, done == 0 ? fds : List.of());
      if (n > 0) {
        done += n;
      } else if (!deadline.pause(SEND_RETRY)) {
        // Only a request longer than the socket's buffer gets here, or one to a slow init.
        return done;
      }
    }
    return done;
  }

  /**
   * Receives the waiting bytes; a descriptor that came along belongs to {@code scope}.
   *
   * @throws KernelException EMFILE: unexpected descriptors come next. They stay where they are, and
   *     no more can be received
   */
  UnixSocket.Received receive(Scope scope, byte[] chunk, Expected expected) throws KernelException {
    receiving.lock();
    try {
      return new UnixSocket.Received(socket.receiveBytes(chunk), List.of());
    } catch (KernelException e) {
      if (!e.is(Errno.EBADMSG)) {
        throw e;
      }
      require(expected, chunk.length);
      return socket.receive(scope, chunk);
    } finally {
      receiving.unlock();
    }
  }

  /** SAFETY: the queue keeps its own copy of a peeked descriptor, so closing ours ends nothing. */
  private void require(Expected expected, int length) throws KernelException {
    try (var brief = new Scope()) {
      List<Fd> seen = socket.peekDescriptors(brief, length);
      if (seen.size() != 1 || !expected.isThis(seen.getFirst())) {
        throw new KernelException("take more descriptors from a box", Errno.EMFILE);
      }
    }
  }

  /** Shuts down both directions; both ends see EOF. */
  void hangUp() throws KernelException {
    socket.shutdown();
  }

  void endSending() throws KernelException {
    socket.shutdownOutput();
  }

  /** Closes the socket; if it holds descriptors of a box, in a process of its own. */
  void close() throws KernelException {
    if (isClosing.getAndSet(true)) {
      return;
    }
    var held = new Scope();
    if (isDrained(held)) {
      held.close();
    } else {
      discarding.discard(socket.fd(), () -> closeUnused(held));
    }
  }

  private boolean isDrained(Scope held) throws KernelException {
    receiving.lock();
    try {
      line.moveTo(held);
      line.close();
      return socket.drain();
    } finally {
      receiving.unlock();
    }
  }

  /**
   * RACE: if a thread were still in a system call on the descriptor, it would do the last close.
   */
  private void closeUnused(Scope held) {
    sending.lock();
    receiving.lock();
    try {
      held.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    } finally {
      receiving.unlock();
      sending.unlock();
    }
  }
}
