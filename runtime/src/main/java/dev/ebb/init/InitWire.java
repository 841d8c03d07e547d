package dev.ebb.init;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Frames messages on the control socket of one box, in both directions, with their descriptors.
 *
 * <p>Any thread may send. Only the poller's thread receives messages, and takes the descriptors
 * that came along.
 */
public final class InitWire {
  private static final int CHUNK = 64 * 1024;
  private static final Duration SEND_DEADLINE = Duration.ofSeconds(10);

  private final InitSocket socket;
  private final Duration patience;
  private final byte[] chunk = new byte[CHUNK];
  private final IncomingMessages incoming = new IncomingMessages();

  /** Descriptors that came with messages, and were not taken yet. */
  private final Deque<Fd> received = new ArrayDeque<>();

  private final OrderedLock watching = new OrderedLock(LockOrder.INIT_STATE);

  @GuardedBy("watching")
  private Poller.@Nullable Watch watch;

  private InitWire(InitSocket socket, Duration patience) {
    this.socket = socket;
    this.patience = patience;
  }

  /** Closes a socket in which a box has put descriptors: see {@link Discards#discard}. */
  public interface Discarding {
    void discard(Fd socket, Runnable close);
  }

  /** Takes a complete message. */
  interface Receiver {
    void receive(IncomingMessages.Message message) throws KernelException;
  }

  /** Both ends of the socket; {@code peer} is for init. */
  public record Pair(InitWire ours, Fd peer) {}

  /** Makes a pair; {@code ours} must be closed before {@code scope} is. */
  public static Pair pair(Scope scope, Scope passing, Discarding discarding)
      throws KernelException {
    return pair(scope, passing, discarding, SEND_DEADLINE);
  }

  static Pair pair(Scope scope, Scope passing, Discarding discarding, Duration patience)
      throws KernelException {
    InitSocket.Pair both = InitSocket.pair(scope, passing, discarding);
    return new Pair(new InitWire(both.ours(), patience), both.peer());
  }

  /** Connects to an init that listens in {@code directory}. */
  static InitWire connect(Scope scope, Fd directory, String name, Discarding discarding)
      throws KernelException {
    return new InitWire(InitSocket.connect(scope, directory, name, discarding), SEND_DEADLINE);
  }

  /**
   * Runs {@code ready} whenever {@link #receive} has something to do; each time until {@link
   * #rearm}.
   *
   * <p>RACE: the first messages may arrive before the field with our watch is set.
   */
  void listen(Scope scope, Poller poller, Runnable ready) throws KernelException {
    watching.lock();
    try {
      watch = poller.watch(scope, socket.fd(), Poller.Interest.READ, ready);
    } finally {
      watching.unlock();
    }
  }

  void rearm() throws KernelException {
    watch().rearm();
  }

  private Poller.Watch watch() {
    watching.lock();
    try {
      return requireNonNull(watch);
    } finally {
      watching.unlock();
    }
  }

  /**
   * Sends a message. A slow init is no reason to end a box: a message that it does not take in time
   * fails, and nothing else.
   */
  void send(byte[] message) throws KernelException {
    send(message, List.of());
  }

  /** Sends a message with descriptors, as {@link #send(byte[])} does without. */
  void send(byte[] message, List<Fd> fds) throws KernelException {
    socket.send(message, fds, Deadline.in(patience));
  }

  /**
   * Receives the waiting bytes, and passes on each complete message.
   *
   * @param expected accepts a descriptor that was asked for
   * @return false when the other end is closed
   */
  boolean receive(Scope scope, InitSocket.Expected expected, Receiver receiver)
      throws KernelException {
    UnixSocket.Received some = socket.receive(scope, chunk, expected);
    received.addAll(some.fds());
    if (some.bytes() > 0) {
      incoming.append(chunk, some.bytes());
      for (var next = incoming.next(); next.isPresent(); next = incoming.next()) {
        receiver.receive(next.get());
      }
    }
    return some.bytes() != 0;
  }

  /** Returns how many descriptors came that were not taken yet. */
  int descriptors() {
    return received.size();
  }

  /** Takes the next descriptor; null if there is none. */
  @Nullable Fd takeDescriptor() {
    return received.poll();
  }

  /** Shuts down both directions; both ends see EOF. */
  void hangUp() throws KernelException {
    socket.hangUp();
  }

  /** Shuts down sending: init sees EOF; its messages still arrive. */
  void endSending() throws KernelException {
    socket.endSending();
  }

  void close() throws KernelException {
    socket.close();
  }
}
