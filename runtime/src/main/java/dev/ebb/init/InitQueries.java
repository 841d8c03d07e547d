package dev.ebb.init;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.model.FirstFile;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Requests to init with an answer: the inventory of the box, files of its workspace, its listening
 * socket. One at a time. Thread-safe.
 */
public final class InitQueries {
  private static final Logger LOG = System.getLogger(InitQueries.class.getName());
  private static final int PERMISSIONS = 0777;

  private final Scope scope;
  private final InitWire wire;
  private final ChannelState state;
  private final OrderedLock lock;

  /** Held from a request to its answer. */
  private final OrderedLock asking = new OrderedLock(LockOrder.INIT_QUESTION);

  /** An answer was late, so the next one may belong to an earlier request. */
  @GuardedBy("asking")
  private boolean isLate;

  @GuardedBy("lock")
  private @Nullable BoxContents contents;

  /** The answer to WRITE_FILE or LIST. */
  @GuardedBy("lock")
  private @Nullable Report report;

  @GuardedBy("lock")
  private @Nullable Listening listening;

  /** How many sockets were requested and have not come yet; only the last is awaited. */
  @GuardedBy("lock")
  private int awaitedSockets;

  InitQueries(Scope scope, InitWire wire, ChannelState state) {
    this.scope = scope;
    this.wire = wire;
    this.state = state;
    this.lock = state.lock();
  }

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Report(int errno, byte[] entries) {}

  /** The answer to LISTEN; the socket belongs to the channel's scope. */
  private record Listening(int errno, Optional<Fd> socket) {}

  // --- what is in the box ---

  /**
   * Returns the inventory of the box after all earlier requests; empty if init has not answered in
   * time or is gone.
   */
  public Optional<BoxContents> inventory(Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      askForContents();
      return awaitContents(deadline);
    } finally {
      asking.unlock();
    }
  }

  /** Takes the inventory, then writes a file; the second request does not wait for an answer. */
  public Optional<Inventory> inventoryThenWrite(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      askForContents();
      // ORDER: the inventory is taken before the file is there.
      Optional<byte[]> written = writeFile(file, deadline);
      return awaitContents(deadline).map(found -> new Inventory(found, written));
    } finally {
      asking.unlock();
    }
  }

  private void askForContents() throws KernelException {
    lock.lock();
    try {
      contents = null;
    } finally {
      lock.unlock();
    }
    wire.send(Protocol.inventory());
  }

  private Optional<BoxContents> awaitContents(Deadline deadline) throws InterruptedException {
    state.await(() -> contents().isPresent(), deadline);
    return contents();
  }

  private Optional<BoxContents> contents() {
    lock.lock();
    try {
      return Optional.ofNullable(contents);
    } finally {
      lock.unlock();
    }
  }

  void contents(BoxContents found) {
    lock.lock();
    try {
      contents = found;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  // --- files of the workspace ---

  /**
   * Lets init itself make a new file in the workspace.
   *
   * @return its entry, see init/protocol.h; empty: it cannot, or has not answered in time
   */
  public Optional<byte[]> writeFile(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    boolean isShort = file.content().length <= Protocol.WRITE_FILE_MAX;
    return isShort && (file.mode() & ~PERMISSIONS) == 0
        ? ask(Protocol.writeFile(file.name(), file.mode(), file.content()), deadline)
        : Optional.empty();
  }

  /**
   * Lets init itself list the workspace.
   *
   * @return all entries, see init/protocol.h; empty: they are too many, or it cannot, or has not
   *     answered in time
   */
  public Optional<byte[]> list(Deadline deadline) throws KernelException, InterruptedException {
    return ask(Protocol.list(), deadline);
  }

  private Optional<byte[]> ask(byte[] question, Deadline deadline)
      throws KernelException, InterruptedException {
    asking.lockInterruptibly();
    try {
      if (isLate) {
        return Optional.empty();
      }
      dropReport();
      // ORDER: also for a thread that is interrupted meanwhile.
      isLate = true;
      wire.send(question);
      isLate = !state.await(() -> report().isPresent(), deadline);
      return report().filter(each -> each.errno == 0).map(Report::entries);
    } finally {
      asking.unlock();
    }
  }

  private void dropReport() {
    lock.lock();
    try {
      report = null;
    } finally {
      lock.unlock();
    }
  }

  private Optional<Report> report() {
    lock.lock();
    try {
      return Optional.ofNullable(report);
    } finally {
      lock.unlock();
    }
  }

  void reported(int errno, byte[] entries) {
    lock.lock();
    try {
      report = new Report(errno, entries);
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  // --- the way out ---

  /**
   * Lets init listen on the loopback of the box, and returns the socket, which is always the same
   * one.
   *
   * @throws KernelException EADDRINUSE when a command has taken the port
   */
  public Fd listen(int port, Deadline deadline) throws KernelException, InterruptedException {
    String action = "listen at port " + port + " of the box";
    asking.lockInterruptibly();
    try {
      askForSocket(port);
      state.await(() -> listening().isPresent(), deadline);
      Listening answer =
          listening().orElseThrow(() -> new KernelException(action + " in time", Errno.EAGAIN));
      return answer.socket().orElseThrow(() -> new KernelException(action, answer.errno()));
    } finally {
      asking.unlock();
    }
  }

  private void askForSocket(int port) throws KernelException {
    awaitSockets(1);
    boolean isAsked = false;
    try {
      Step.SEND_LISTEN.reach();
      wire.send(Protocol.listen(port));
      isAsked = true;
    } finally {
      if (!isAsked) {
        awaitSockets(-1);
      }
    }
  }

  private void awaitSockets(int more) {
    lock.lock();
    try {
      listening = null;
      awaitedSockets += more;
    } finally {
      lock.unlock();
    }
  }

  private Optional<Listening> listening() {
    lock.lock();
    try {
      return Optional.ofNullable(listening);
    } finally {
      lock.unlock();
    }
  }

  int awaitedSockets() {
    lock.lock();
    try {
      return awaitedSockets;
    } finally {
      lock.unlock();
    }
  }

  void listening(int errno) throws KernelException {
    // KERNEL: bytes of a message without descriptors may come with those of the next.
    Fd fd = errno == 0 ? wire.takeDescriptor() : null;
    if (awaitedSockets() == 0 || (errno == 0 && fd == null)) {
      throw new KernelException("understand what init listens at", Errno.EINVAL);
    }
    if (fd != null) {
      scope.own(() -> makePrompt(fd));
    }
    if (awaitedSockets() > 1 && fd != null) {
      // The thread that asked for it has given up.
      makePrompt(fd);
      scope.release(fd);
    }
    lock.lock();
    try {
      awaitedSockets--;
      listening = awaitedSockets == 0 ? new Listening(errno, Optional.ofNullable(fd)) : null;
      state.signal();
    } finally {
      lock.unlock();
    }
  }

  /** SAFETY: init has the socket as well, and closing it may take as long as SO_LINGER says. */
  private static void makePrompt(Fd listener) {
    try {
      TcpSocket.neverLinger(listener);
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=linger_not_reset, ignoring: it is closed already", e);
    }
  }
}
