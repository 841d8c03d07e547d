package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Connections of a daemon that was stopped for longer than a connection may be idle. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonIdleConnectionAcceptanceTest {
  private static final Duration IDLE = Duration.ofSeconds(3);
  private static final Duration LONGER = Duration.ofSeconds(5);
  private static final int EACH = 10;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(List::of, Map.of("JDK_JAVA_OPTIONS", "-Debb.idle=" + IDLE.toMillis()));

  /** A connection that stays open from request to request. */
  private static final class KeepAlive implements Closeable {
    private final SocketChannel channel;

    KeepAlive(SocketAddress address) throws IOException {
      channel = SocketChannel.open(address);
    }

    void send(String text) throws IOException {
      var bytes = ByteBuffer.wrap(text.getBytes(UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    }

    /** Reads what comes next; returns empty when the daemon has closed the connection. */
    Optional<String> next() throws IOException {
      var bytes = ByteBuffer.allocate(8192);
      int n = channel.read(bytes);
      return n < 0 ? Optional.empty() : Optional.of(new String(bytes.array(), 0, n, UTF_8));
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  private void stopFor(Duration time, List<KeepAlive> lines, String request) throws Exception {
    signal("STOP");
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
      for (KeepAlive line : lines) {
        line.send(request);
      }
    } finally {
      signal("CONT");
    }
  }

  private void signal(String name) throws IOException, InterruptedException {
    String pid = Long.toString(daemon.pid());
    assertThat(new ProcessBuilder("kill", "-s", name, pid).inheritIO().start().waitFor()).isZero();
  }

  private List<SocketAddress> doors() throws IOException {
    return List.of(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), daemon.uri().getPort()),
        UnixDomainSocketAddress.of(daemon.home().resolve("ebb.sock")));
  }

  private static void closeAll(List<KeepAlive> lines) throws IOException {
    for (KeepAlive line : lines) {
      line.close();
    }
  }

  @Test
  void aRequestThatCameDuringTheStopIsAnswered() throws Exception {
    String request =
        "GET /v1/boxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"
            .formatted(daemon.key());
    var lines = new ArrayList<KeepAlive>();
    for (SocketAddress door : doors()) {
      for (int i = 0; i < EACH; i++) {
        var line = new KeepAlive(door);
        lines.add(line);
        line.send(request);
        assertThat(line.next()).get().asString().startsWith("HTTP/1.1 200");
      }
    }
    stopFor(LONGER, lines, request);
    for (KeepAlive line : lines) {
      assertThat(line.next()).get().asString().startsWith("HTTP/1.1 200");
    }
    for (KeepAlive line : lines) {
      assertThat(line.next()).as("an idle connection of a running daemon is closed").isEmpty();
    }
    closeAll(lines);
  }

  /** Half of the body comes before the stop, and the rest during it. */
  @Test
  void aBodyThatPausedDuringTheStopIsTaken() throws Exception {
    String box = daemon.client().boxes().create(BoxRequest.defaults()).id();
    String headers = "Authorization: Bearer " + daemon.key() + "\r\nContent-Length: 8";
    var lines = new ArrayList<KeepAlive>();
    for (SocketAddress door : doors()) {
      for (int i = 0; i < EACH; i++) {
        lines.add(new KeepAlive(door));
        lines
            .getLast()
            .send(
                "PUT /v1/boxes/%s/files?path=%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\nhalf"
                    .formatted(box, lines.size(), headers));
      }
    }
    stopFor(LONGER, lines, "rest");
    for (KeepAlive line : lines) {
      assertThat(line.next()).get().asString().startsWith("HTTP/1.1 20");
    }
    closeAll(lines);
    byte[] last = daemon.client().files(box).read("/workspace/" + lines.size()).readAllBytes();
    assertThat(last).asString(UTF_8).isEqualTo("halfrest");
    assertThat(daemon.client().boxes().remove(box, true).clean()).isTrue();
  }
}
