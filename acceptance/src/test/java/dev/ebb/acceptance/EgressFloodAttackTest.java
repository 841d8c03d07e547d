package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One tenant takes as many connections of the proxy as it can; another fetches something. */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class EgressFloodAttackTest {
  private static final int CONNECTIONS = 512;
  private static final int BOXES = 8;

  /** All boxes together want more than there are; each has a quarter of all at most. */
  private static final int OF_BOX = 120;

  /**
   * Every third connection sends nothing, the others wait for an answer that does not come; then a
   * new connection always replaces the oldest.
   */
  private static final String HOLD =
      """
      import socket, sys, time
      port, most = sys.argv[1].encode(), int(sys.argv[2])
      held, count = [], 0
      def more():
          global count
          count += 1
          try:
              one = socket.create_connection(("127.0.0.1", 3128), timeout=1)
              if count % 3:
                  one.sendall(b"GET http://localhost:%s/hold HTTP/1.1\\r\\nHost: localhost:%s\\r\\n\\r\\n" % (port, port))
              held.append(one)
          except OSError:
              time.sleep(0.1)
      while len(held) < most:
          more()
      while True:
          held.pop(0).close()
          more()
          time.sleep(0.05)
      """;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--egress-private",
          "127.0.0.0/8,::1/128",
          "--policy-egress",
          "localhost:*",
          "--egress-connections",
          Integer.toString(CONNECTIONS));

  /** Fetches a page by the proxy; curl prints the result. */
  static ExecRequest fetch(String url) {
    return ExecRequest.of(
        "curl", "-s", "--noproxy", "", "-m", "25", "-o", "/dev/null", "-w", "%{http_code}", url);
  }

  static TenantFlood.Probe fetching(EbbClient b, String network, String url) throws IOException {
    String box = b.boxes().create(TenantFlood.SMALL.withNetwork(network)).id();
    return new TenantFlood.Probe(
        "fetch",
        caller ->
            assertThat(caller.execs(box).run(fetch(url)).stdout().text())
                .as("B's fetch")
                .isEqualTo("200"));
  }

  static void removeAll(EbbClient client) throws IOException {
    for (Box box : client.boxes().list(BoxQuery.all())) {
      client.boxes().remove(box.id(), true);
    }
  }

  @Test
  void connectionsOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    try (var origin = new EgressOrigin()) {
      String network = "allow=localhost:" + origin.port();
      String url = "http://localhost:" + origin.port() + "/";
      tenants.attack(
          "egress connections",
          fetching(tenants.b(), network, url),
          2,
          () -> hold(tenants.a(), network, origin.port()));
    }
    removeAll(tenants.b());
  }

  private AutoCloseable hold(EbbClient a, String network, int port) throws IOException {
    BoxRequest order = TenantFlood.SMALL.withNetwork(network);
    for (int i = 0; i < BOXES; i++) {
      String box = a.boxes().create(order).id();
      a.execs(box).start(ExecRequest.of("python3", "-c", HOLD, "" + port, "" + OF_BOX));
    }
    // No more than are left for the others.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> daemon.gauge("ebb_egress_connections") >= CONNECTIONS / 2 - 1);
    return () -> {
      assertThat(daemon.gauge("ebb_egress_connections")).isLessThanOrEqualTo(CONNECTIONS / 2);
      removeAll(a);
    };
  }
}
