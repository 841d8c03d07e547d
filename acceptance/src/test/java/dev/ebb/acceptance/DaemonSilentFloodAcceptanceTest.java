package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many connections over TCP that send nothing, and callers that send requests meanwhile. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonSilentFloodAcceptanceTest {
  private static final int MOST = 64;
  private static final int CALLS = 20;

  /** Its own, {@link #MOST} over each door, and some that are being accepted or closed. */
  private static final int DESCRIPTORS = 500;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--connections", "64");

  /** Opens connections from each of the addresses in turn, until the test ends it. */
  private Thread flood(List<String> addresses, AtomicBoolean isOver) {
    return Thread.ofPlatform()
        .start(
            () -> {
              var open = new ArrayList<SocketChannel>();
              for (int i = 0; !isOver.get(); i++) {
                try {
                  var channel = SocketChannel.open();
                  open.add(channel);
                  channel.bind(
                      new InetSocketAddress(
                          InetAddress.getByName(addresses.get(i % addresses.size())), 0));
                  channel.connect(
                      new InetSocketAddress(
                          InetAddress.getLoopbackAddress(), daemon.uri().getPort()));
                  if (open.size() > 10 * MOST) {
                    open.removeFirst().close();
                  }
                } catch (IOException e) {
                  // Refused or cut off: the next one.
                }
              }
              for (SocketChannel each : open) {
                try {
                  each.close();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              }
            });
  }

  private long descriptors() throws IOException {
    try (var all = Files.list(Path.of("/proc/" + daemon.pid() + "/fd"))) {
      return all.count();
    }
  }

  private void requireServed(List<String> flooding) throws Exception {
    String key = daemon.key();
    var isOver = new AtomicBoolean();
    EbbClient owner = daemon.client();
    Thread flood = flood(flooding, isOver);
    try {
      for (int i = 0; i < CALLS; i++) {
        assertThat(owner.run(BoxRequest.defaults(), ExecRequest.of("echo", "1")).stdout().text())
            .isEqualTo("1\n");
        // Each over a connection of its own.
        var socket = new Socket();
        socket.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.77"), 0));
        socket.connect(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), daemon.uri().getPort()));
        try (Wire wire = Wire.over(socket, daemon.uri())) {
          assertThat(
                  wire.ask("GET", "/v1/boxes", new byte[0], "Authorization: Bearer " + key)
                      .status())
              .isEqualTo(200);
        }
        assertThat(descriptors()).as("descriptors of the daemon").isLessThan(DESCRIPTORS);
      }
    } finally {
      isOver.set(true);
      flood.join();
    }
  }

  @Test
  void aFloodFromOneAddressKeepsNeitherTheOwnerNorAnother() throws Exception {
    requireServed(List.of("127.0.0.1"));
  }

  @Test
  void aFloodFromManyAddressesKeepsNeitherTheOwnerNorAnother() throws Exception {
    requireServed(List.of("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"));
  }
}
