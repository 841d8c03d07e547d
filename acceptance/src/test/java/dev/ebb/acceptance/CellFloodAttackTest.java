package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Limits;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * One tenant has all contexts that a box can have, with cells that show much to a caller that does
 * not read; another tenant runs a cell that shows something.
 */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class CellFloodAttackTest {
  private static final int MIB = 1 << 20;
  private static final int CONTEXTS = 32;

  /** Half of the heap is for all tenants, and half of that is the most that one can have. */
  private static final long SHARE = 64 * MIB;

  private static final String SHOW =
      """
      class Large:
          def _repr_html_(self): return "x" * (%d << 10)
      Large()
      """;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          List::of, Map.of("JDK_JAVA_OPTIONS", "-Xmx256m -XX:+ExitOnOutOfMemoryError"));

  private static String box(EbbClient client) throws IOException {
    return client
        .boxes()
        .create(BoxRequest.defaults().withLimits(new Limits(2048L * MIB, 256, null, null)))
        .id();
  }

  /** All that a box can have. */
  private static List<String> contexts(EbbClient client, String box) throws IOException {
    var all = new ArrayList<String>();
    for (int i = 0; i < CONTEXTS; i++) {
      all.add(client.contexts(box).create(ContextRequest.of("python")).id());
    }
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(() -> client.contexts(box).create(ContextRequest.of("python")))
        .satisfies(e -> assertThat(e.status()).isEqualTo(409));
    return all;
  }

  private static TenantFlood.Probe showing(EbbClient b) throws IOException {
    String box = box(b);
    String context = b.contexts(box).create(ContextRequest.of("python")).id();
    CellRequest cell = CellRequest.of(SHOW.formatted(1024));
    return new TenantFlood.Probe(
        "cell that shows 1 MiB",
        caller -> {
          var shown = caller.contexts(box).run(context, cell);
          assertThat(requireNonNull(shown.result().get("text/html")).text()).hasSize(MIB);
        });
  }

  @Test
  void cellsOfOneTenantDoNotDelayAnother() throws Exception {
    var tenants = new TenantFlood(daemon);
    EbbClient a = tenants.a();
    String box = box(a);
    List<String> contexts = contexts(a, box);
    tenants.attack(
        "cells and contexts",
        showing(tenants.b()),
        TenantFlood.TURNS,
        () -> show(tenants.keyOfA(), box, contexts));
    EgressFloodAttackTest.removeAll(a);
    EgressFloodAttackTest.removeAll(tenants.b());
  }

  /** Runs a cell with 8 MiB of output in each context, and does not read the answer. */
  private AutoCloseable show(String key, String box, List<String> contexts) throws IOException {
    var unread = new ArrayList<Wire>();
    String body = JsonObject.empty().with("code", SHOW.formatted(8 * 1024)).toString();
    for (String context : contexts) {
      Wire wire = Wire.to(daemon.uri());
      unread.add(wire);
      wire.write(
          "POST /v1/boxes/%s/contexts/%s/cells HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(box, context, key, body.getBytes(StandardCharsets.UTF_8).length, body));
    }
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> daemon.gauge("ebb_kept_bytes") > SHARE * 3 / 4);
    return () -> {
      assertThat(daemon.gauge("ebb_kept_bytes")).isGreaterThan(SHARE / 2);
      for (Wire each : unread) {
        each.close();
      }
    };
  }
}
