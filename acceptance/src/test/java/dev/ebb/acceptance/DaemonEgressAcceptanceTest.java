package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.Box;
import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Egress of boxes as callers request it; {@code localhost} stands for the internet. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonEgressAcceptanceTest {
  private static final String ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--egress-private", "127.0.0.0/8,::1/128", "--policy-egress", "localhost:*,a.org");

  /** A server that answers each request with {@code ANSWER} and closes the connection. */
  private record Origin(ServerSocket server, Thread thread) implements AutoCloseable {
    static Origin open() throws IOException {
      var server = new ServerSocket(0, 16, InetAddress.ofLiteral("127.0.0.1"));
      Thread thread = Thread.ofPlatform().name("origin").start(() -> serve(server));
      return new Origin(server, thread);
    }

    private static void serve(ServerSocket server) {
      try {
        while (true) {
          try (Socket caller = server.accept()) {
            var in = caller.getInputStream();
            byte[] head = new byte[4096];
            if (in.read(head) > 0) {
              caller.getOutputStream().write(ANSWER.getBytes(UTF_8));
            }
          }
        }
      } catch (IOException e) {
        // The server was closed.
      }
    }

    String url() {
      return "http://localhost:" + server.getLocalPort() + "/";
    }

    @Override
    public void close() throws IOException {
      server.close();
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Unsets no_proxy: otherwise the client connects to the box's own loopback, without the proxy.
   */
  private static ExecRequest fetch(String url) {
    String code =
        """
        import sys, urllib.request as r, urllib.error as e
        proxy = r.ProxyHandler({"http": "http://127.0.0.1:3128"})
        opener = r.build_opener(proxy)
        try:
            print(opener.open(sys.argv[1], timeout=20).read().decode().strip())
        except e.HTTPError as failure:
            print(failure.code, failure.reason)
        except OSError as failure:
            print(failure)
        """;
    return ExecRequest.of("python3", "-c", code, url)
        .withEnvironment("NO_PROXY", "")
        .withEnvironment("no_proxy", "");
  }

  private static String output(EbbClient client, String box, ExecRequest request)
      throws IOException {
    return client.execs(box).run(request).stdout().text().strip();
  }

  private static void assertForbidden(EbbClient client, String network, String why) {
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(() -> client.boxes().create(BoxRequest.defaults().withNetwork(network)))
        .satisfies(e -> assertThat(e.status()).isEqualTo(403))
        .satisfies(e -> assertThat(e.detail()).contains(why));
  }

  @Test
  void aBoxReachesWhatItsNetworkAllowsUntilThatIsChanged() throws Exception {
    try (Origin origin = Origin.open();
        EbbClient client = daemon.client();
        BoxEvents events = client.events()) {
      String network = "allow=localhost:" + origin.server().getLocalPort();
      Box box = client.boxes().create(BoxRequest.defaults().withNetwork(network));
      assertThat(box.network()).isEqualTo(network);
      assertThat(output(client, box.id(), fetch(origin.url()))).isEqualTo("hello");
      assertThat(output(client, box.id(), fetch("http://other.org/")))
          .isEqualTo("403 Ebb: other.org:80 is not allowed by the network of this box");

      assertThat(client.boxes().changeNetwork(box.id(), "allow=other.org").network())
          .isEqualTo("allow=other.org");
      assertThat(output(client, box.id(), fetch(origin.url()))).startsWith("403 Ebb: localhost:");
      assertThat(client.boxes().changeNetwork(box.id(), "none").network()).isEqualTo("none");
      assertThat(output(client, box.id(), fetch(origin.url()))).startsWith("403 Ebb: localhost:");
      assertThat(client.boxes().changeNetwork(box.id(), network).network()).isEqualTo(network);
      if (Feature.CGROUPS.isPresent()) {
        client.boxes().pause(box.id());
        client.boxes().resume(box.id());
      }
      assertThat(output(client, box.id(), fetch(origin.url()))).isEqualTo("hello");
      assertThat(client.boxes().inspect(box.id()).network()).isEqualTo(network);
      assertPublished(events);
      client.boxes().remove(box.id(), true);
    }
  }

  private static void assertPublished(BoxEvents events) throws IOException {
    BoxEvent allowed = next(events, "egress_allowed");
    assertThat(allowed.document().string("destination")).startsWith("localhost:");
    BoxEvent refused = next(events, "egress_refused");
    assertThat(refused.document().string("destination")).isEqualTo("other.org:80");
    assertThat(refused.document().string("outcome")).isEqualTo("policy");
    assertThat(next(events, "network").document().string("network")).isEqualTo("allow=other.org");
  }

  private static BoxEvent next(BoxEvents events, String kind) throws IOException {
    BoxEvent event = events.next();
    while (!event.kind().equals(kind)) {
      event = events.next();
    }
    return event;
  }

  @Test
  void aBoxWithoutEgressCanBeGivenIt() throws Exception {
    try (Origin origin = Origin.open();
        EbbClient client = daemon.client()) {
      Box box = client.boxes().create(BoxRequest.defaults());
      assertThat(output(client, box.id(), fetch(origin.url()))).contains("refused");
      client.boxes().changeNetwork(box.id(), "allow=localhost:*");
      assertThat(output(client, box.id(), fetch(origin.url()))).isEqualTo("hello");
      assertThat(output(client, box.id(), ExecRequest.of("printenv", "https_proxy")))
          .isEqualTo("http://127.0.0.1:3128");
      client.boxes().remove(box.id(), true);
    }
  }

  @Test
  void aTenantMayAskForWhatTheOperatorLists() throws Exception {
    EbbClient acme = daemon.client(daemon.key("--tenant", "acme"));
    assertForbidden(
        acme, "allow=b.org", "does not allow boxes to reach b.org, only localhost:*,a.org");
    assertForbidden(acme, "allow=a.org,*", "does not allow boxes to reach *");
    assertForbidden(acme, "host", "the network of the host");
    Box box = acme.boxes().create(BoxRequest.defaults().withNetwork("allow=a.org"));
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(() -> acme.boxes().changeNetwork(box.id(), "allow=b.org"))
        .satisfies(e -> assertThat(e.status()).isEqualTo(403));
    assertThat(acme.boxes().inspect(box.id()).network()).isEqualTo("allow=a.org");
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(() -> acme.boxes().changeNetwork(box.id(), "allow=127.0.0.1"))
        .satisfies(e -> assertThat(e.status()).isEqualTo(400))
        .satisfies(e -> assertThat(e.detail()).contains("an address cannot be allowed"));
    acme.boxes().remove(box.id(), true);
  }

  @Test
  void theCommandLineSetsAndShowsIt() throws Exception {
    try (Origin origin = Origin.open()) {
      Ebb ebb = daemon.ebb();
      String port = Integer.toString(origin.server().getLocalPort());
      assertThat(ebb.call("create", "--name", "one", "--net", "allow=localhost:" + port).code())
          .isZero();
      assertThat(ebb.call("network", "one").text()).isEqualTo("allow=localhost:" + port + "\n");
      assertThat(ebb.call("network", "one", "allow=A.org,*.b.org:8443").text())
          .isEqualTo("allow=a.org,*.b.org:8443\n");
      var wrong = ebb.call("network", "one", "allow=1.2.3.4");
      assertThat(wrong.code()).isEqualTo(125);
      assertThat(wrong.stderr()).contains("an address cannot be allowed, only names");
      assertThat(ebb.call("network", "one", "none").text()).isEqualTo("none\n");
      assertThat(ebb.call("rm", "-f", "one").code()).isZero();
      // This runs without the daemon, so without the addresses that its operator opened.
      var refused =
          ebb.call(
              "run",
              "--net",
              "allow=localhost:" + port,
              "--",
              "curl",
              "-s",
              "-v",
              "--noproxy",
              "",
              origin.url());
      assertThat(refused.stderr())
          .contains("403 Ebb: localhost leads to an address that is closed");
      var bad = ebb.call("run", "--net", "allow=[::1]", "--", "true");
      assertThat(bad.code()).isEqualTo(125);
      assertThat(bad.stderr()).contains("an address cannot be allowed, only names");
    }
  }

  /**
   * The init of the box keeps its egress socket, and the next daemon serves it by the last policy.
   */
  @Test
  void aDetachedBoxKeepsItsEgressAndItsChange() throws Exception {
    try (Origin origin = Origin.open()) {
      String opened;
      String closed;
      String first = "allow=localhost:" + origin.server().getLocalPort();
      try (EbbClient client = daemon.client()) {
        opened = detached(client, "allow=a.org");
        client.boxes().changeNetwork(opened, "allow=localhost:*");
        assertThat(output(client, opened, fetch(origin.url()))).isEqualTo("hello");
        closed = detached(client, first);
        client.boxes().changeNetwork(closed, "none");
      }
      daemon.kill();
      daemon.start();
      try (EbbClient client = daemon.client()) {
        assertThat(client.boxes().inspect(opened).network()).isEqualTo("allow=localhost:*");
        assertThat(output(client, opened, fetch(origin.url()))).isEqualTo("hello");
        assertThat(output(client, opened, fetch("http://a.org/")))
            .isEqualTo("403 Ebb: a.org:80 is not allowed by the network of this box");
        assertThat(client.boxes().inspect(closed).network()).isEqualTo("none");
        assertThat(output(client, closed, fetch(origin.url())))
            .as("it is refused, and does not wait")
            .startsWith("403 Ebb: localhost:");
        client.boxes().changeNetwork(closed, first);
        assertThat(output(client, closed, fetch(origin.url()))).isEqualTo("hello");
        client.boxes().remove(opened, true);
        client.boxes().remove(closed, true);
      }
    }
  }

  private static String detached(EbbClient client, String network) throws IOException {
    return client.boxes().create(BoxRequest.defaults().withNetwork(network).withDetached()).id();
  }
}
