package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A real server, which loses its patience sooner than the daemon's. */
@Timeout(120)
class HeaderTimeoutTest {
  /** Long enough for a thread that has read a head and is kept waiting for a processor. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final Duration ROUND = Duration.ofMillis(20);
  private static final String WHOLE = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

  private final Server server = new Server();
  private ServerConnector connector;

  @BeforeEach
  void start() throws Exception {
    connector = new ServerConnector(server, 1, 1);
    connector.setHost("127.0.0.1");
    connector.addBean(new HeaderTimeout(connector.getScheduler(), PATIENCE, ROUND));
    server.addConnector(connector);
    server.setHandler(
        new Handler.Abstract() {
          @Override
          public boolean handle(Request request, Response response, Callback callback) {
            callback.succeeded();
            return true;
          }
        });
    server.start();
  }

  @AfterEach
  void stop() throws Exception {
    server.stop();
  }

  private Socket connect() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), connector.getLocalPort());
    socket.setSoTimeout((int) ROUND.toMillis());
    return socket;
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Returns whether the server has closed; waits a moment for it. */
  private static boolean isCut(Socket socket) {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true;
    }
  }

  private static void readAnswer(Socket socket) throws IOException {
    socket.setSoTimeout(0);
    InputStream in = socket.getInputStream();
    var answer = new StringBuilder();
    while (answer.indexOf("\r\n\r\n") < 0) {
      int b = in.read();
      assertThat(b).as("cut after " + answer).isNotNegative();
      answer.append((char) b);
    }
    assertThat(answer).startsWith("HTTP/1.1 200");
    socket.setSoTimeout((int) ROUND.toMillis());
  }

  /** Jetty's own idle timeout, 30 s, begins anew with each byte: it would never come. */
  @ParameterizedTest
  @ValueSource(strings = {"", WHOLE})
  void aConnectionThatDripsAHeadIsCutOff(String before) throws IOException {
    try (Socket socket = connect()) {
      if (!before.isEmpty()) {
        write(socket, before);
        readAnswer(socket);
      }
      write(socket, "GET / HTTP/1.1\r\nX-Slow: ");
      while (!isCut(socket)) {
        try {
          write(socket, "a");
        } catch (IOException e) {
          break;
        }
      }
    }
  }

  @Test
  void aConnectionThatSendsNothingIsIdle() throws IOException {
    try (Socket socket = connect()) {
      for (int request = 0; request < 2; request++) {
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < 3 * PATIENCE.toNanos()) {
          assertThat(isCut(socket)).isFalse();
        }
        write(socket, WHOLE);
        readAnswer(socket);
      }
    }
  }
}
