package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A tenant that uses as much as it can of a resource leaves enough of it to the others. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonSharesAcceptanceTest {
  private static final int CONNECTIONS = 16;

  /** Opens as many connections to the proxy as it allows, and sends nothing on them. */
  private static final String HOLD =
      """
      import signal, socket
      held = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(8)]
      print("held", flush=True)
      signal.pause()
      """;

  private static final String FETCH =
      """
      import socket, sys
      proxy = socket.create_connection(("127.0.0.1", 3128), timeout=20)
      proxy.sendall(b"GET http://localhost:%s/ HTTP/1.0\\r\\n\\r\\n" % sys.argv[1].encode())
      print(proxy.recv(100).decode().split("\\r")[0])
      """;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--egress-private=127.0.0.0/8,::1/128",
          "--policy-egress=localhost:*",
          "--egress-connections=" + CONNECTIONS);

  private static void answerOnce(ServerSocket server) {
    try (Socket caller = server.accept()) {
      if (caller.getInputStream().read(new byte[4096]) > 0) {
        caller
            .getOutputStream()
            .write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(UTF_8));
      }
    } catch (IOException e) {
      // It is over.
    }
  }

  @Test
  void connectionsOfOneTenantLeaveHalfToOthers() throws Exception {
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    EbbClient b = daemon.client(daemon.key("--tenant", "b"));
    try (var origin = new ServerSocket(0, 16, InetAddress.ofLiteral("127.0.0.1"))) {
      var request = BoxRequest.defaults().withNetwork("allow=localhost:" + origin.getLocalPort());
      Thread thread = Thread.ofPlatform().name("origin").start(() -> answerOnce(origin));
      var held = new ArrayList<Box>();
      for (int i = 0; i < 4; i++) {
        Box box = a.boxes().create(request);
        held.add(box);
        a.execs(box.id()).start(ExecRequest.of("python3", "-c", HOLD));
      }
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> daemon.gauge("ebb_egress_connections") >= CONNECTIONS / 2);
      var fetch = ExecRequest.of("python3", "-c", FETCH, Integer.toString(origin.getLocalPort()));
      var fetched = b.run(request, fetch);
      assertThat(fetched.stdout().text()).as(fetched.stderr().text()).startsWith("HTTP/1.1 200");
      assertThat(daemon.gauge("ebb_egress_connections")).isEqualTo(CONNECTIONS / 2);
      for (Box box : held) {
        a.boxes().remove(box.id(), true);
      }
      thread.join();
    }
  }

  /** Displays of a cell are kept until the cell is answered, and count for its tenant. */
  @Test
  void whatCellsShowCountsForTheirTenant() throws Exception {
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    Box box = a.boxes().create(BoxRequest.defaults());
    var contexts = a.contexts(box.id());
    contexts.create(ContextRequest.of("python").withName("c"));
    long before = daemon.gauge("ebb_kept_bytes");
    String show = "display('x' * (4 << 20))\nimport time\ntime.sleep(600)";
    try (var cell = contexts.runAndFollow("c", CellRequest.of(show))) {
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> daemon.gauge("ebb_kept_bytes") >= before + (4 << 20));
      assertThat(cell).isNotNull();
    }
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> daemon.gauge("ebb_kept_bytes") < before + (1 << 20));
    a.boxes().remove(box.id(), true);
  }
}
