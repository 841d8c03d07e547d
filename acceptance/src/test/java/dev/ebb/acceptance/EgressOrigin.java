package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A server of the loopback that answers at once, but for {@code /hold}, which it never does. */
final class EgressOrigin implements AutoCloseable {
  private static final int BACKLOG = 1024;
  private static final int HEAD_MOST = 8 * 1024;
  private static final byte[] ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n".getBytes(US_ASCII);

  private final ServerSocket server =
      new ServerSocket(0, BACKLOG, InetAddress.ofLiteral("127.0.0.1"));
  private final Set<Socket> callers = ConcurrentHashMap.newKeySet();
  private final Thread acceptor;

  EgressOrigin() throws IOException {
    acceptor = Thread.ofPlatform().name("origin").start(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  private void accept() {
    while (true) {
      try {
        Socket caller = server.accept();
        callers.add(caller);
        Thread.ofVirtual().start(() -> serve(caller));
      } catch (IOException e) {
        return; // it is over
      }
    }
  }

  private void serve(Socket caller) {
    try (caller) {
      var head = new ByteArrayOutputStream();
      int next = caller.getInputStream().read();
      while (next >= 0 && head.size() < HEAD_MOST && !isWhole(head)) {
        head.write(next);
        next = isWhole(head) ? next : caller.getInputStream().read();
      }
      if (head.toString(US_ASCII).startsWith("GET /hold")) {
        caller.getInputStream().transferTo(ByteArrayOutputStream.nullOutputStream());
      } else if (isWhole(head)) {
        caller.getOutputStream().write(ANSWER);
      }
    } catch (IOException e) {
      // The caller has gone.
    } finally {
      callers.remove(caller);
    }
  }

  private static boolean isWhole(ByteArrayOutputStream head) {
    return head.toString(US_ASCII).endsWith("\r\n\r\n");
  }

  @Override
  public void close() throws IOException {
    server.close();
    NameServer.join(acceptor);
    for (Socket each : callers) {
      each.close();
    }
  }
}
