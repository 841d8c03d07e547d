package dev.ebb.init;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.kernel.UnixSocket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;

/** A program in python whose stdin is a socket, {@code s} there; it sends what Java cannot make. */
final class ForeignProcess implements AutoCloseable {
  private static final Path PYTHON = Path.of("/usr/bin/python3");
  private static final String BEGIN = "import socket, struct, time\ns = socket.socket(fileno=0)\n";

  private final Scope scope = new Scope();
  private final Pidfd process;

  ForeignProcess(Fd socket, String code) throws KernelException {
    process = Spawn.spawn(scope, PYTHON, List.of("python3", "-c", BEGIN + code), List.of(socket));
  }

  @Override
  public void close() throws KernelException {
    process.signal(Signal.KILL);
    Awaitility.await().pollInterval(Duration.ofMillis(1)).until(() -> process.reap().isPresent());
    scope.close();
  }

  /** A TCP socket that listens on the loopback. */
  record Listener(Fd fd, int port) {}

  static Listener listener(Scope scope) throws KernelException {
    try (var brief = new Scope()) {
      var pair = UnixSocket.pair(brief, brief);
      String code =
          """
          l = socket.socket()
          l.bind(("127.0.0.1", 0))
          l.listen()
          socket.send_fds(s, [struct.pack("=i", l.getsockname()[1])], [l.fileno()])
          """;
      var port = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.nativeOrder());
      var received = new ArrayList<Fd>();
      try (var _ = new ForeignProcess(pair.peer(), code)) {
        Awaitility.await()
            .pollInterval(Duration.ofMillis(1))
            .until(
                () -> {
                  received.addAll(pair.ours().receive(scope, port.array()).fds());
                  return !received.isEmpty();
                });
      }
      return new Listener(received.getFirst(), port.getInt(0));
    }
  }
}
