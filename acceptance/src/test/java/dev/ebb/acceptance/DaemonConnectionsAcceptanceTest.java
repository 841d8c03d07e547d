package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that is limited to a few connections. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonConnectionsAcceptanceTest {
  private static final int MOST = 4;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--connections", "4");

  private void requireServed(Wire wire) throws IOException {
    wire.write("GET /healthz HTTP/1.1\r\nHost: " + daemon.uri().getAuthority() + "\r\n\r\n");
    assertThat(wire.until("HTTP/1.1 200")).isNotEmpty();
  }

  @Test
  void anExcessConnectionIsRefusedAndServedWhenAnotherHasClosed() throws Exception {
    var wires = new ArrayList<Wire>();
    for (int i = 0; i < MOST; i++) {
      wires.add(Wire.to(daemon.uri()));
      requireServed(wires.getLast());
    }
    var refused = Wire.ask(daemon.uri(), "GET", "/healthz", "");
    assertThat(refused.status()).isEqualTo(503);
    assertThat(refused.head()).containsIgnoringCase("connection: close");
    assertThat(refused.head()).containsIgnoringCase("retry-after: 1");
    assertThat(refused.body()).contains("\"pressure\"").contains("4 connections");
    // The unix socket has a bound of its own.
    assertThat(daemon.client().boxes().list(BoxQuery.all())).isEmpty();
    for (Wire wire : wires) {
      requireServed(wire);
    }
    wires.getFirst().close();
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> Wire.ask(daemon.uri(), "GET", "/healthz", "").status() == 200);
    for (Wire wire : wires) {
      wire.close();
    }
  }

  @Test
  void connectionsWithAKeyAreBoundedAndAdminsHaveAReserve() throws Exception {
    String plain = "Authorization: Bearer " + daemon.key("--tenant", "a");
    String admin = "Authorization: Bearer " + daemon.key("--admin");
    var wires = new ArrayList<Wire>();
    for (int i = 0; i < MOST; i++) {
      Wire wire = Wire.to(daemon.uri());
      wires.add(wire);
      String host = "Host: " + daemon.uri().getAuthority();
      wire.write("GET /v1/boxes HTTP/1.1\r\n" + host + "\r\n" + plain + "\r\n\r\n");
      assertThat(wire.until("HTTP/1.1 200")).isNotEmpty();
    }
    assertThat(Wire.ask(daemon.uri(), "GET", "/v1/boxes", "", plain).status()).isEqualTo(503);
    assertThat(Wire.ask(daemon.uri(), "GET", "/v1/boxes", "", admin).status()).isEqualTo(200);
    for (Wire wire : wires) {
      wire.close();
    }
  }

  private long descriptors() throws IOException {
    try (var open = Files.list(Path.of("/proc/" + daemon.pid() + "/fd"))) {
      return open.count();
    }
  }

  @Test
  void silentConnectionsTakeABoundedNumberOfDescriptors() throws Exception {
    long before = descriptors();
    var silent = new ArrayList<Wire>();
    for (int i = 0; i < 20 * MOST; i++) {
      silent.add(Wire.to(daemon.uri()));
    }
    // The daemon closes silent connections to make room.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> Wire.ask(daemon.uri(), "GET", "/healthz", "").status() == 200);
    await().atMost(DaemonProcess.PATIENCE).until(() -> descriptors() <= before + 2 * MOST);
    for (Wire wire : silent) {
      wire.close();
    }
  }
}
