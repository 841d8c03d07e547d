package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One tenant looks up names that no server answers; another looks up a name that resolves. */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class NameFloodAttackTest {
  /** A box with slow names stands back, so that the flood needs new boxes for each turn. */
  private static final int BOXES = 16;

  private static final String NETWORK = "allow=*.example.org:*";

  /** Eight names at a time, each of which is new. */
  private static final String ASK =
      """
      import socket, threading
      def ask(which):
          count = 0
          while True:
              count += 1
              try:
                  with socket.create_connection(("127.0.0.1", 3128), timeout=30) as one:
                      name = b"slow-%d-%d.example.org" % (which, count)
                      one.sendall(b"GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name, name))
                      one.recv(1)
              except OSError:
                  pass
      for which in range(8):
          threading.Thread(target=ask, args=(which,)).start()
      """;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          NameServer::prefix,
          Map.of(),
          "--egress-private",
          "127.0.0.0/8,::1/128",
          "--policy-egress",
          "*.example.org:*");

  @BeforeAll
  static void requireGlibc() throws IOException {
    NameServer.requireGlibc();
  }

  @Test
  void lookUpsOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    try (var _ = new NameServer();
        var origin = new EgressOrigin()) {
      String box = tenants.b().boxes().create(TenantFlood.SMALL.withNetwork(NETWORK)).id();
      var count = new AtomicInteger();
      var probe =
          new TenantFlood.Probe(
              "fetch by a new name",
              b -> {
                // Each is looked up: what was found once is remembered for a while.
                String url =
                    "http://quick-%d.example.org:%d/"
                        .formatted(count.incrementAndGet(), origin.port());
                assertThat(b.execs(box).run(EgressFloodAttackTest.fetch(url)).stdout().text())
                    .as("B's fetch")
                    .isEqualTo("200");
              });
      tenants.attack("name look-ups", probe, 2, () -> ask(tenants.a()));
      EgressFloodAttackTest.removeAll(tenants.b());
    }
  }

  private static AutoCloseable ask(EbbClient a) throws IOException {
    for (int i = 0; i < BOXES; i++) {
      String box = a.boxes().create(TenantFlood.SMALL.withNetwork(NETWORK)).id();
      a.execs(box).start(ExecRequest.of("python3", "-c", ASK));
    }
    return () -> EgressFloodAttackTest.removeAll(a);
  }
}
