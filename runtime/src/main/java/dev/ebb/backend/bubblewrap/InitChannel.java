package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.ExecKind;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.UnixSocket;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The engine's end of the control socket of one box.
 *
 * <p>Its closing is the box's end: init exits when it sees EOF. Messages arrive on the poller's
 * thread. Thread-safe.
 */
public final class InitChannel {
  private static final Logger LOG = System.getLogger(InitChannel.class.getName());
  private static final int CHUNK = 64 * 1024;
  private static final Duration SEND_DEADLINE = Duration.ofSeconds(10);
  private static final long SEND_RETRY_NANOS = 200_000;

  private final Scope scope;
  private final UnixSocket socket;
  private final byte[] nonce;
  private final Duration patience;
  private final Poller.Watch watch;
  private final byte[] chunk = new byte[CHUNK];
  private final Deque<Fd> received = new ArrayDeque<>();
  private final Map<Integer, ExecEvents> execs = new ConcurrentHashMap<>();
  private final ReentrantLock sending = new ReentrantLock();
  private ByteBuffer pending = Protocol.buffer(CHUNK);

  private final ReentrantLock state = new ReentrantLock();
  private final Condition changed = state.newCondition();
  private @Nullable Pidfd init;
  private boolean hello;
  private boolean closed;
  private Runnable listener = () -> {};

  /** Takes over {@code socket} and gives init its nonce; events flow at once. */
  InitChannel(Scope scope, Poller poller, UnixSocket socket, byte[] nonce) throws KernelException {
    this(scope, poller, socket, nonce, SEND_DEADLINE);
  }

  InitChannel(Scope scope, Poller poller, UnixSocket socket, byte[] nonce, Duration patience)
      throws KernelException {
    this.scope = scope;
    this.patience = patience;
    this.socket = socket;
    this.nonce = nonce.clone();
    sendAll(nonce, List.of());
    watch = poller.watch(scope, socket.fd(), Poller.Interest.READ, this::receive);
    // RACE: closed by us, it never sees the EOF that would tell the execs.
    scope.own(this::close);
  }

  /** Waits for LAUNCHED and HELLO; empty when the box died or the deadline came first. */
  Optional<Pidfd> awaitHello(Deadline deadline) throws InterruptedException {
    state.lock();
    try {
      while (!(hello && init != null) && !closed && !deadline.isOver()) {
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return hello ? Optional.ofNullable(init) : Optional.empty();
    } finally {
      state.unlock();
    }
  }

  /** The box's pid 1, if it got so far. */
  public Optional<Pidfd> init() {
    state.lock();
    try {
      return Optional.ofNullable(init);
    } finally {
      state.unlock();
    }
  }

  /**
   * Ends the talk, and hears out what was said before: then {@link #init} is final.
   *
   * @return false when the deadline came first
   */
  public boolean hangUp(Deadline deadline) throws InterruptedException {
    hangUp();
    state.lock();
    try {
      while (!closed && !deadline.isOver()) {
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return closed;
    } finally {
      state.unlock();
    }
  }

  /** Runs {@code listener} once the other end is gone, at once if it is already. */
  public void whenClosed(Runnable listener) {
    boolean already;
    state.lock();
    try {
      this.listener = listener;
      already = closed;
    } finally {
      state.unlock();
    }
    if (already) {
      listener.run();
    }
  }

  /** Asks init to start a command; {@code fds}: stdout log, stderr log, leaf directory, stdin. */
  public void start(int exec, StartRequest request, List<Fd> fds, ExecEvents events)
      throws KernelException {
    byte[] message = Protocol.start(exec, fds.size(), request);
    if (fds.size() > Protocol.MESSAGE_FDS_MAX) {
      throw new IllegalArgumentException("too many descriptors for one message: " + fds.size());
    }
    if (message.length - Protocol.HEADER_SIZE > Protocol.MESSAGE_MAX) {
      throw new KernelException("start a command with such long arguments", Errno.E2BIG);
    }
    execs.put(exec, events);
    try {
      sendAll(message, fds);
    } catch (KernelException e) {
      execs.remove(exec);
      throw e;
    }
    // RACE: the channel may have closed before our entry was in the map.
    if (isClosed() && execs.remove(exec) != null) {
      events.lost();
    }
  }

  /** Starts the kill ladder of an exec; one that has ended already is no error. */
  public void kill(int exec, Signal signal, Duration grace) throws KernelException {
    sendAll(Protocol.kill(exec, signal.number(), grace), List.of());
  }

  /** Changes the size of an exec's terminal; one that has ended already is no error. */
  public void resize(int exec, ExecKind.Terminal size) throws KernelException {
    sendAll(Protocol.resize(exec, size), List.of());
  }

  /** Sends a signal, but SIGKILL, to all of an exec; one that has ended already is no error. */
  public void signal(int exec, Signal signal) throws KernelException {
    sendAll(Protocol.signal(exec, signal.number()), List.of());
  }

  private boolean isClosed() {
    state.lock();
    try {
      return closed;
    } finally {
      state.unlock();
    }
  }

  private void sendAll(byte[] bytes, List<Fd> fds) throws KernelException {
    sending.lock();
    try {
      Deadline deadline = Deadline.in(patience);
      int done = 0;
      while (done < bytes.length) {
        int n = socket.send(bytes, done, bytes.length - done, done == 0 ? fds : List.of());
        if (n > 0) {
          done += n;
        } else if (deadline.isOver()) {
          hangUp();
          throw new KernelException("send to init in time", Errno.EAGAIN);
        } else {
          // Only a request longer than the socket's buffer gets here; init reads it at once.
          LockSupport.parkNanos(SEND_RETRY_NANOS);
        }
      }
    } finally {
      sending.unlock();
    }
  }

  private void receive() {
    try {
      UnixSocket.Received some = socket.receive(scope, chunk);
      take(some.fds());
      if (some.bytes() == 0) {
        close();
        return;
      }
      if (some.bytes() > 0) {
        append(some.bytes());
        while (nextMessage()) {}
      }
      watch.rearm();
    } catch (KernelException | RuntimeException e) {
      // RACE: the box may be released, and all that is used here closed, while this runs.
      if (!scope.isClosed()) {
        LOG.log(Level.ERROR, "event=channel_broken", e);
      }
      hangUp();
      close();
    }
  }

  /** What follows could not be understood, here or there: both see the end, and the box ends. */
  private void hangUp() {
    try {
      socket.shutdown();
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=hang_up_failed, ignoring: the box is being released", e);
    }
  }

  /** SAFETY: there is one, the pidfd of init; a box shall not fill our table. */
  private void take(List<Fd> fds) throws KernelException {
    received.addAll(fds);
    if (received.size() > (init().isPresent() ? 0 : 1)) {
      throw new KernelException("take more descriptors from a box", Errno.EMFILE);
    }
  }

  private void append(int bytes) {
    if (pending.remaining() < bytes) {
      ByteBuffer larger = Protocol.buffer(2 * (pending.position() + bytes));
      pending = larger.put(pending.flip());
    }
    pending.put(chunk, 0, bytes);
  }

  /** Takes one whole message off the buffer, if there is one. */
  private boolean nextMessage() throws KernelException {
    if (pending.position() < Protocol.HEADER_SIZE) {
      return false;
    }
    int size = pending.getInt(0);
    if (size < 0 || size > Protocol.MESSAGE_MAX) {
      throw new KernelException("understand a message of " + size + " bytes", Errno.EINVAL);
    }
    if (pending.position() < Protocol.HEADER_SIZE + size) {
      return false;
    }
    pending.flip();
    var body = Protocol.buffer(size);
    int type = pending.getShort(4);
    int exec = pending.getInt(8);
    body.put(0, pending, Protocol.HEADER_SIZE, size);
    pending.position(Protocol.HEADER_SIZE + size);
    pending.compact();
    dispatch(type, exec, body);
    return true;
  }

  private void dispatch(int type, int exec, ByteBuffer body) throws KernelException {
    switch (type) {
      case Protocol.MESSAGE_LAUNCHED -> launched(body.getInt());
      case Protocol.MESSAGE_HELLO -> hello(body);
      case Protocol.MESSAGE_STARTED -> {
        int pid = body.getInt();
        int shepherd = body.getInt();
        exec(exec, false).ifPresent(e -> e.started(pid, shepherd));
      }
      case Protocol.MESSAGE_OUTPUT ->
          exec(exec, false).ifPresent(e -> e.output(body.getLong(), body.getLong()));
      // ORDER: understood first. An exec that is off the list already would never hear of an end.
      case Protocol.MESSAGE_REFUSED -> {
        var step = Protocol.step(body.getInt());
        int errno = body.getInt();
        exec(exec, true).ifPresent(e -> e.refused(step, errno));
      }
      case Protocol.MESSAGE_ENDED -> {
        var ended = Protocol.ended(body);
        exec(exec, true).ifPresent(e -> e.ended(ended));
      }
      default -> throw new KernelException("understand message type " + type, Errno.EINVAL);
    }
  }

  private Optional<ExecEvents> exec(int exec, boolean last) {
    return Optional.ofNullable(last ? execs.remove(exec) : execs.get(exec));
  }

  private void launched(int pid) throws KernelException {
    Fd fd = received.poll();
    if (fd == null) {
      throw new KernelException("find the pidfd that came with pid " + pid, Errno.EINVAL);
    }
    change(() -> init = Pidfd.of(pid, fd));
  }

  private void hello(ByteBuffer body) throws KernelException {
    int version = body.getInt();
    byte[] echo = new byte[Protocol.NONCE_SIZE];
    body.get(echo);
    if (version != Protocol.PROTOCOL_VERSION || !Arrays.equals(echo, nonce)) {
      throw new KernelException(
          "trust hello of version " + version + " with nonce " + HexFormat.of().formatHex(echo),
          Errno.EINVAL);
    }
    change(() -> hello = true);
  }

  private void change(Runnable change) {
    state.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      state.unlock();
    }
  }

  /** The other end is gone: so is every exec that has not ended. */
  private void close() {
    Runnable told;
    state.lock();
    try {
      closed = true;
      told = listener;
      changed.signalAll();
    } finally {
      state.unlock();
    }
    told.run();
    for (Integer exec : List.copyOf(execs.keySet())) {
      ExecEvents events = execs.remove(exec);
      if (events != null) {
        events.lost();
      }
    }
  }
}
