package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * TCP connections without a key that send nothing, from many addresses, to a daemon with the usual
 * bounds; meanwhile its owner at the unix socket and a caller with a key make requests.
 */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class SilentFloodAttackTest {
  private static final int SILENT = 6_300;
  private static final int ADDRESSES = 20;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private InetSocketAddress address() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), daemon.uri().getPort());
  }

  /** So many connections at a time, the oldest of which is always replaced by a new one. */
  private AutoCloseable silence() throws InterruptedException {
    var over = new AtomicBoolean();
    var all = new CountDownLatch(SILENT);
    Thread flood = Thread.ofPlatform().name("silence").start(() -> keepSilent(over, all));
    assertThat(all.await(DaemonProcess.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    return () -> {
      over.set(true);
      flood.join();
    };
  }

  private void keepSilent(AtomicBoolean over, CountDownLatch all) {
    var open = new ArrayDeque<SocketChannel>();
    try {
      for (int i = 0; !over.get(); i++) {
        open.add(silent("127.0.1." + (1 + i % ADDRESSES)));
        all.countDown();
        if (open.size() > SILENT) {
          open.remove().close();
          // Whatever was cut off comes again within seconds, not at once.
          Thread.sleep(1);
        }
      }
      for (SocketChannel each : open) {
        each.close();
      }
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Refused and cut off it counts, too. */
  private SocketChannel silent(String from) throws IOException {
    var channel = SocketChannel.open();
    try {
      channel.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
      channel.connect(address());
    } catch (IOException e) {
      channel.close();
    }
    return channel;
  }

  @Test
  void silentConnectionsDoNotDelayTheOwner() throws Exception {
    EbbClient owner = daemon.client();
    var probe =
        new TenantFlood.Probe(
            "run by the unix socket",
            _ ->
                assertThat(owner.run(TenantFlood.SMALL, ExecRequest.of("true")).exec().exitCode())
                    .isZero());
    new TenantFlood(daemon).attack("6,300 silent connections", probe, 2, this::silence);
  }

  /** Each of its calls is over a connection of its own, which shows its key with the request. */
  @Test
  void silentConnectionsDoNotDelayACallerWithAKey() throws Exception {
    var tenants = new TenantFlood(daemon);
    String key = daemon.key("--tenant", "b");
    byte[] body = "{\"exec\":{\"command\":[\"true\"]}}".getBytes(UTF_8);
    var probe =
        new TenantFlood.Probe(
            "run by TCP, new connection",
            _ -> {
              var socket = new Socket();
              socket.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.77"), 0));
              socket.connect(address());
              try (Wire wire = Wire.over(socket, daemon.uri())) {
                var answer = wire.ask("POST", "/v1/run", body, "Authorization: Bearer " + key);
                assertThat(answer.status()).as(answer.head() + answer.body()).isEqualTo(200);
              }
            });
    tenants.attack("6,300 silent connections", probe, 2, this::silence);
  }
}
