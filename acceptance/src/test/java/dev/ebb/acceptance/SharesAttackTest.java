package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.Box;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Output;
import dev.ebb.testkit.LeakChecked;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One tenant takes as much as it can of all shared resources; another tenant runs a command. */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class SharesAttackTest {
  private static final int MIB = 1 << 20;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  @Test
  void bodiesOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    byte[] large =
        ("{\"command\":[\"true\"],\"input\":{\"text\":\"" + "x".repeat(4 * MIB) + "\"}}")
            .getBytes(StandardCharsets.UTF_8);
    tenants.attack(
        "request bodies",
        8,
        _ -> {
          String key = "Authorization: Bearer " + tenants.keyOfA();
          assertThat(Wire.ask(daemon.uri(), "POST", "/v1/boxes/none/execs", large, key).status())
              .isIn(0, 404, 429);
        });
  }

  @Test
  void inputThatOneTenantNeverReadsDoesNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    EbbClient a = daemon.client(tenants.keyOfA());
    Box box = a.boxes().create(TenantFlood.SMALL);
    var unread =
        ExecRequest.of("sleep", "600")
            .withInput(Output.of("x".repeat(MIB).getBytes(StandardCharsets.UTF_8)));
    tenants.attack("unread input", 2, hostile -> hostile.execs(box.id()).start(unread));
    a.boxes().remove(box.id(), true);
  }

  @Test
  void subscribersOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    var streams = new ArrayList<Wire>();
    int refused = 0;
    try {
      for (int i = 0; i < 100; i++) {
        Wire wire = Wire.to(daemon.uri());
        streams.add(wire);
        wire.write(
            "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                + "Authorization: Bearer "
                + tenants.keyOfA()
                + "\r\n\r\n");
        refused += wire.until("\r\n\r\n").startsWith("HTTP/1.1 429") ? 1 : 0;
      }
      assertThat(refused).isEqualTo(36);
      tenants.attack("event subscribers", 1, a -> a.run(TenantFlood.SMALL, ExecRequest.of("true")));
    } finally {
      for (Wire each : streams) {
        each.close();
      }
    }
  }

  @Test
  void readsAndListingsOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    EbbClient a = daemon.client(tenants.keyOfA());
    Box box = a.boxes().create(TenantFlood.SMALL);
    a.files(box.id()).write("data", new byte[16 * MIB]);
    a.execs(box.id())
        .run(ExecRequest.of("sh", "-c", "mkdir many; cd many; seq 5000 | xargs touch"));
    tenants.attack(
        "file reads",
        2,
        hostile -> {
          try (InputStream content = hostile.files(box.id()).read("data")) {
            content.transferTo(java.io.OutputStream.nullOutputStream());
          }
          hostile.files(box.id()).list("many");
        });
    a.boxes().remove(box.id(), true);
  }
}
