package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.ACCEPT4;
import static dev.ebb.kernel.SystemCall.CONNECT;
import static dev.ebb.kernel.SystemCall.GETSOCKOPT;
import static dev.ebb.kernel.SystemCall.RECVFROM;
import static dev.ebb.kernel.SystemCall.SENDTO;
import static dev.ebb.kernel.SystemCall.SETSOCKOPT;
import static dev.ebb.kernel.SystemCall.SHUTDOWN;
import static dev.ebb.kernel.SystemCall.SOCKET;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Optional;

/** TCP over descriptors that may come from another network namespace; nothing here ever waits. */
public final class TcpSocket {
  private static final int AF_INET = 2;
  private static final int AF_INET6 = 10;
  private static final int SOCK_STREAM = 1;
  private static final int SOCK_NONBLOCK = 0x800;
  private static final int SOL_SOCKET = 1;
  private static final int SO_TYPE = 3;
  private static final int SO_ERROR = 4;
  private static final int SO_LINGER = 13;
  private static final int SO_ACCEPTCONN = 30;
  private static final int SO_DOMAIN = 39;
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_NODELAY = 1;
  private static final int MSG_DONTWAIT = 0x40;
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int SHUT_WR = 1;

  private TcpSocket() {}

  /** Returns whether {@code fd}, which came from a box, is a listening TCP socket. */
  public static boolean isListening(Fd fd) throws KernelException {
    return option(fd, SO_DOMAIN) == AF_INET
        && option(fd, SO_TYPE) == SOCK_STREAM
        && option(fd, SO_ACCEPTCONN) == 1;
  }

  /** From now on closing it does not wait, unless another holder switches that on again. */
  public static void neverLinger(Fd fd) throws KernelException {
    try (var frame = new Frame()) {
      setOption(frame, fd, SOL_SOCKET, SO_LINGER, frame.allocate(8));
    }
  }

  /** The next connection; empty when there is none, or no more. */
  public static Optional<Fd> accept(Scope scope, Fd listener) throws KernelException {
    try (var frame = new Frame();
        var use = listener.new Use()) {
      long fd =
          frame.callThroughInterrupts(ACCEPT4, use.number(), 0, 0, SOCK_NONBLOCK | Fd.O_CLOEXEC);
      if (fd == -Errno.EAGAIN.number() || fd == -Errno.ECONNABORTED.number()) {
        return Optional.empty();
      }
      int number = (int) Frame.check(fd, "accept on " + listener);
      Fd client = Fd.adopt(scope, number, "egress of a box");
      // SAFETY: inherited from the listener, which init has as well. We never wait for a close.
      setOption(frame, client, SOL_SOCKET, SO_LINGER, frame.allocate(8));
      return Optional.of(prompt(client));
    }
  }

  /** Begins to connect; that is over when it can be written to, see {@link #failure}. */
  public static Fd connect(Scope scope, InetAddress address, int port) throws KernelException {
    try (var making = new Scope();
        var frame = new Frame()) {
      byte[] bytes = address.getAddress();
      boolean isV4 = bytes.length == 4;
      long number =
          frame.callForDescriptor(
              SOCKET, isV4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | Fd.O_CLOEXEC, 0);
      String subject = "egress to " + address.getHostAddress() + " port " + port;
      Fd socket = Fd.adopt(making, (int) Frame.check(number, "make a socket"), subject);
      // struct sockaddr_in, or sockaddr_in6 whose address follows the flow information.
      MemorySegment to = frame.allocate(isV4 ? 16 : 28);
      to.set(JAVA_SHORT, 0, (short) (isV4 ? AF_INET : AF_INET6));
      to.set(JAVA_BYTE, 2, (byte) (port >> 8));
      to.set(JAVA_BYTE, 3, (byte) port);
      MemorySegment.copy(bytes, 0, to, JAVA_BYTE, isV4 ? 4 : 8, bytes.length);
      try (var use = socket.new Use()) {
        long result = frame.call(CONNECT, use.number(), to.address(), to.byteSize());
        if (result != -Errno.EINPROGRESS.number()) {
          Frame.check(result, "connect " + subject);
        }
      }
      prompt(socket);
      making.moveTo(scope);
      return socket;
    }
  }

  /** Why it could not be connected. */
  public static Optional<String> failure(Fd fd) throws KernelException {
    int errno = option(fd, SO_ERROR);
    return errno == 0 ? Optional.empty() : Optional.of(Errno.describe(errno));
  }

  /** Fills the rest of a direct {@code buffer}; returns 0 at the end, -1 if it would wait. */
  public static int receive(Fd fd, ByteBuffer buffer) throws KernelException {
    return transfer(RECVFROM, fd, buffer, "receive from ");
  }

  /** Sends some of a direct {@code buffer}; -1 means that it would wait. */
  public static int send(Fd fd, ByteBuffer buffer) throws KernelException {
    return transfer(SENDTO, fd, buffer, "send to ");
  }

  // SAFETY: the memory of a direct buffer lives as long as the buffer, which we hold.
  private static int transfer(SystemCall call, Fd fd, ByteBuffer buffer, String action)
      throws KernelException {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException("not a direct buffer");
    }
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment memory = MemorySegment.ofBuffer(buffer);
      long n =
          frame.callThroughInterrupts(
              call,
              use.number(),
              memory.address(),
              buffer.remaining(),
              MSG_DONTWAIT | MSG_NOSIGNAL,
              0,
              0);
      if (n == -Errno.EAGAIN.number()) {
        return -1;
      }
      Frame.check(n, action + fd);
      buffer.position(buffer.position() + (int) n);
      return (int) n;
    }
  }

  /** Says no more; the other end sees it when it has read all. */
  public static void shutdownOutput(Fd fd) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      long result = frame.call(SHUTDOWN, use.number(), SHUT_WR);
      if (result != -Errno.ENOTCONN.number()) {
        Frame.check(result, "end the output to " + fd);
      }
    }
  }

  /** Makes close reset the connection, so that the peer cannot take it for a complete end. */
  public static void resetOnClose(Fd fd) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment linger = frame.allocate(8);
      linger.set(JAVA_INT, 0, 1);
      setOption(frame, fd, SOL_SOCKET, SO_LINGER, linger);
    }
  }

  private static Fd prompt(Fd fd) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment yes = frame.allocate(4);
      yes.set(JAVA_INT, 0, 1);
      setOption(frame, fd, IPPROTO_TCP, TCP_NODELAY, yes);
      return fd;
    }
  }

  private static void setOption(Frame frame, Fd fd, int level, int name, MemorySegment value)
      throws KernelException {
    try (var use = fd.new Use()) {
      Frame.check(
          frame.call(SETSOCKOPT, use.number(), level, name, value.address(), value.byteSize()),
          "set an option of " + fd);
    }
  }

  private static int option(Fd fd, int name) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment value = frame.allocate(4);
      MemorySegment size = frame.allocate(4);
      size.set(JAVA_INT, 0, 4);
      Frame.check(
          frame.call(GETSOCKOPT, use.number(), SOL_SOCKET, name, value.address(), size.address()),
          "read an option of " + fd);
      return value.get(JAVA_INT, 0);
    }
  }
}
