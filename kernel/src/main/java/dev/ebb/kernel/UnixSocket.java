package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.BIND;
import static dev.ebb.kernel.SystemCall.CONNECT;
import static dev.ebb.kernel.SystemCall.LISTEN;
import static dev.ebb.kernel.SystemCall.RECVMSG;
import static dev.ebb.kernel.SystemCall.SENDMSG;
import static dev.ebb.kernel.SystemCall.SETSOCKOPT;
import static dev.ebb.kernel.SystemCall.SHUTDOWN;
import static dev.ebb.kernel.SystemCall.SOCKET;
import static dev.ebb.kernel.SystemCall.SOCKETPAIR;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A connected unix stream socket that carries bytes and descriptors; never blocks. */
public final class UnixSocket {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM = 1;
  private static final int SOL_SOCKET = 1;
  private static final int SCM_RIGHTS = 1;
  private static final int SO_PASSRIGHTS = 83;
  private static final int MSG_PEEK = 0x2;
  private static final int MSG_CTRUNC = 0x8;
  private static final int MSG_DONTWAIT = 0x40;
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;
  private static final int SHUT_WR = 1;
  private static final int SHUT_RDWR = 2;
  private static final int MSGHDR_SIZE = 56;
  private static final int CMSG_HEADER = 16;
  private static final int MAX_FDS = 16;
  private static final int PEEKED_FDS = 2;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int BACKLOG = 8;
  private static final int DRAIN = 16 * 1024;

  /** KERNEL: of struct sockaddr_un, with the NUL. */
  private static final int PATH_MAX = 108;

  /** The two ends: ours does not block, the peer's is for a child to inherit. */
  public record Pair(UnixSocket ours, Fd peer) {}

  /** The result of one receive; {@code bytes} is -1 if it would wait, 0 at the end. */
  public record Received(int bytes, List<Fd> fds) {}

  private final Fd fd;

  private UnixSocket(Fd fd) {
    this.fd = fd;
  }

  /** A connected socket that was inherited or handed over. */
  public static UnixSocket of(Fd fd) {
    return new UnixSocket(fd);
  }

  /** Makes a connected pair, each end with an owner of its own. */
  public static Pair pair(Scope ourScope, Scope peerScope) throws KernelException {
    try (var frame = new Frame();
        var ourEnd = new Scope();
        var peerEnd = new Scope()) {
      MemorySegment ends = frame.allocate(8);
      long result =
          frame.callForDescriptor(
              SOCKETPAIR, AF_UNIX, SOCK_STREAM | Fd.O_CLOEXEC, 0, ends.address());
      Frame.check(result, "create socket pair");
      Fd ours = Fd.adopt(ourEnd, ends.get(JAVA_INT, 0), "control socket");
      Fd peer = Fd.adopt(peerEnd, ends.get(JAVA_INT, 4), "control socket of init");
      ourEnd.moveTo(ourScope);
      peerEnd.moveTo(peerScope);
      return new Pair(new UnixSocket(ours), peer);
    }
  }

  /** Makes a socket {@code name} in {@code directory} and listens there; it does not block. */
  public static Fd listen(Scope scope, Fd directory, String name) throws KernelException {
    try (var making = new Scope()) {
      Fd socket = socket(making, "listening socket " + name);
      at(BIND, socket, directory, name, "make the socket " + name);
      try (var frame = new Frame();
          var use = socket.new Use()) {
        Frame.check(frame.call(LISTEN, use.number(), BACKLOG), "listen at the socket " + name);
      }
      making.moveTo(scope);
      return socket;
    }
  }

  /** Connects to the socket that listens at {@code name} in {@code directory}. */
  public static UnixSocket connect(Scope scope, Fd directory, String name) throws KernelException {
    try (var making = new Scope()) {
      Fd socket = socket(making, "control socket");
      // KERNEL: a unix stream connects at once, or not at all.
      at(CONNECT, socket, directory, name, "connect to the socket " + name);
      making.moveTo(scope);
      return new UnixSocket(socket);
    }
  }

  private static Fd socket(Scope scope, String subject) throws KernelException {
    try (var frame = new Frame()) {
      long fd =
          frame.callForDescriptor(SOCKET, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | Fd.O_CLOEXEC, 0);
      return Fd.adopt(scope, (int) Frame.check(fd, "make a socket"), subject);
    }
  }

  /** KERNEL: through /proc/self/fd no directory is too deep for sun_path. */
  private static void at(SystemCall call, Fd socket, Fd directory, String name, String action)
      throws KernelException {
    try (var frame = new Frame();
        var use = socket.new Use();
        var in = directory.new Use()) {
      byte[] path = ("/proc/self/fd/" + in.number() + "/" + name).getBytes(StandardCharsets.UTF_8);
      if (path.length >= PATH_MAX || name.indexOf('\0') >= 0) {
        throw new KernelException(action, Errno.ENAMETOOLONG);
      }
      MemorySegment address = frame.allocate(2 + path.length + 1);
      address.set(JAVA_SHORT, 0, (short) AF_UNIX);
      MemorySegment.copy(path, 0, address, JAVA_BYTE, 2, path.length);
      Frame.check(frame.call(call, use.number(), address.address(), address.byteSize()), action);
    }
  }

  public Fd fd() {
    return fd;
  }

  /** Sends some of the bytes, the descriptors with the first; -1 means that it would wait. */
  public int send(byte[] bytes, int offset, int length, List<Fd> fds) throws KernelException {
    var uses = new ArrayList<Fd.Use>();
    try (var frame = new Frame();
        var use = fd.new Use()) {
      for (Fd passed : fds) {
        uses.add(passed.new Use());
      }
      MemorySegment data = frame.allocate(length);
      MemorySegment.copy(bytes, offset, data, JAVA_BYTE, 0, length);
      MemorySegment control = frame.allocate(control(uses.size()));
      control.set(JAVA_LONG, 0, CMSG_HEADER + 4L * uses.size());
      control.set(JAVA_INT, 8, SOL_SOCKET);
      control.set(JAVA_INT, 12, SCM_RIGHTS);
      for (int i = 0; i < uses.size(); i++) {
        control.set(JAVA_INT, CMSG_HEADER + 4L * i, uses.get(i).number());
      }
      MemorySegment header = header(frame, data, control, uses.isEmpty() ? 0 : control.byteSize());
      long n =
          frame.callThroughInterrupts(
              SENDMSG, use.number(), header.address(), MSG_DONTWAIT | MSG_NOSIGNAL);
      return n == -Errno.EAGAIN.number() ? -1 : (int) Frame.check(n, "send to init");
    } finally {
      uses.forEach(Fd.Use::close);
    }
  }

  /** Ends the connection, for both ends to see; ours stays open. */
  public void shutdown() throws KernelException {
    shutdown(SHUT_RDWR);
  }

  /** Shuts down sending, which the peer sees; its messages and its close are still received. */
  public void shutdownOutput() throws KernelException {
    shutdown(SHUT_WR);
  }

  private void shutdown(int how) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      long result = frame.call(SHUTDOWN, use.number(), how);
      if (result != -Errno.ENOTCONN.number()) {
        Frame.check(result, "hang up on init");
      }
    }
  }

  /** Receives the bytes that are there; descriptors sent with them belong to {@code scope}. */
  public Received receive(Scope scope, byte[] buffer) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment data = frame.allocate(buffer.length);
      MemorySegment control = frame.allocate(control(MAX_FDS));
      MemorySegment header = header(frame, data, control, control.byteSize());
      long n =
          frame.callThroughInterrupts(
              RECVMSG, use.number(), header.address(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (n == -Errno.EAGAIN.number()) {
        return new Received(-1, List.of());
      }
      if (n == -Errno.ECONNRESET.number()) {
        return new Received(0, List.of());
      }
      Frame.check(n, "receive from init");
      MemorySegment.copy(data, JAVA_BYTE, 0, buffer, 0, (int) n);
      var fds = descriptors(scope, control, header.get(JAVA_LONG, 40));
      if ((header.get(JAVA_INT, 48) & MSG_CTRUNC) != 0) {
        throw new KernelException("receive descriptors from init", Errno.EMFILE);
      }
      return new Received((int) n, fds);
    }
  }

  // --- from a peer that is not to be trusted ---

  /**
   * Has the kernel refuse descriptors that the peer sends from now on, with EPERM, or not.
   *
   * @return false: this kernel cannot refuse them, it is older than 6.16
   */
  public boolean passDescriptors(boolean mayPass) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment value = frame.allocate(4);
      value.set(JAVA_INT, 0, mayPass ? 1 : 0);
      long result =
          frame.call(SETSOCKOPT, use.number(), SOL_SOCKET, SO_PASSRIGHTS, value.address(), 4);
      if (result == -Errno.ENOPROTOOPT.number()) {
        return false;
      }
      Frame.check(result, "refuse descriptors from a box");
      return true;
    }
  }

  /**
   * Receives bytes without taking a descriptor; -1 means that it would wait, 0 the end.
   *
   * <p>KERNEL: a descriptor that is not taken is closed by the thread that receives, with a control
   * buffer or without, and to close a TCP socket may take as long as its SO_LINGER says. So this
   * peeks first. A peek duplicates the descriptors it sees, and only the duplicates are closed. The
   * following read returns what was peeked, because no other thread reads this socket.
   *
   * @throws KernelException EBADMSG: descriptors come next. They stay where they are, so no more
   *     can be received, and the socket is not to be closed by a thread that others wait for
   */
  public int receiveBytes(byte[] buffer) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment data = frame.allocate(buffer.length);
      MemorySegment header = header(frame, data, data, 0);
      long seen =
          frame.callThroughInterrupts(
              RECVMSG, use.number(), header.address(), MSG_DONTWAIT | MSG_PEEK);
      if (seen == -Errno.EAGAIN.number()) {
        return -1;
      }
      if (seen == -Errno.ECONNRESET.number() || seen == 0) {
        return 0;
      }
      Frame.check(seen, "look at what a box sends");
      if ((header.get(JAVA_INT, 48) & MSG_CTRUNC) != 0) {
        throw new KernelException("take descriptors from a box", Errno.EBADMSG);
      }
      MemorySegment again = header(frame, data.asSlice(0, seen), data, 0);
      long n = frame.callThroughInterrupts(RECVMSG, use.number(), again.address(), MSG_DONTWAIT);
      Frame.check(n, "receive from a box");
      MemorySegment.copy(data, JAVA_BYTE, 0, buffer, 0, (int) n);
      return (int) n;
    }
  }

  /**
   * Looks at the descriptors that come with the next bytes, up to {@code length} of those; more
   * than one is enough to know. They are duplicates, to be closed: what was sent stays where it is.
   */
  public List<Fd> peekDescriptors(Scope scope, int length) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment data = frame.allocate(length);
      MemorySegment control = frame.allocate(control(PEEKED_FDS));
      MemorySegment header = header(frame, data, control, control.byteSize());
      long n =
          frame.callThroughInterrupts(
              RECVMSG, use.number(), header.address(), MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC);
      Frame.check(n, "look at what a box sends");
      return descriptors(scope, control, header.get(JAVA_LONG, 40));
    }
  }

  /**
   * Hangs up and throws away what was sent.
   *
   * @return false: descriptors are among it, so its closing may take long
   */
  public boolean drain() throws KernelException {
    // ORDER: from here on the peer can send no more.
    shutdown();
    byte[] thrownAway = new byte[DRAIN];
    try {
      while (receiveBytes(thrownAway) > 0) {}
      return true;
    } catch (KernelException e) {
      if (e.is(Errno.EBADMSG)) {
        return false;
      }
      throw e;
    }
  }

  private static List<Fd> descriptors(Scope scope, MemorySegment control, long length)
      throws KernelException {
    if (length < CMSG_HEADER
        || control.get(JAVA_INT, 8) != SOL_SOCKET
        || control.get(JAVA_INT, 12) != SCM_RIGHTS) {
      return List.of();
    }
    try (var arriving = new Scope()) {
      var fds = new ArrayList<Fd>();
      long end = control.get(JAVA_LONG, 0);
      for (long at = CMSG_HEADER; at + 4 <= end; at += 4) {
        fds.add(Fd.adopt(arriving, control.get(JAVA_INT, at), "descriptor from init"));
      }
      arriving.moveTo(scope);
      return fds;
    }
  }

  private static int control(int fds) {
    return CMSG_HEADER + (4 * fds + 7) / 8 * 8;
  }

  /** struct msghdr over one buffer. */
  private static MemorySegment header(
      Frame frame, MemorySegment data, MemorySegment control, long controlSize) {
    MemorySegment vector = frame.allocate(16);
    vector.set(JAVA_LONG, 0, data.address());
    vector.set(JAVA_LONG, 8, data.byteSize());
    MemorySegment header = frame.allocate(MSGHDR_SIZE);
    header.set(JAVA_LONG, 16, vector.address());
    header.set(JAVA_LONG, 24, 1);
    header.set(JAVA_LONG, 32, controlSize == 0 ? 0 : control.address());
    header.set(JAVA_LONG, 40, controlSize);
    return header;
  }
}
