package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.json.Json;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Agents that send nothing any more and have not ended their session. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonMcpIdleAcceptanceTest {
  private static final Duration IDLE = Duration.ofSeconds(8);
  private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--mcp-idle=8s");

  /**
   * A session with a call under way stays, however long that takes; its idle time begins
   * afterwards.
   */
  @Test
  void anUnusedSessionEndsAndItsBoxesGo() throws Exception {
    var wire = new McpWire(daemon.uri(), daemon.key());
    try (EbbClient client = daemon.client();
        BoxEvents events = client.events();
        Wire call = Wire.to(daemon.uri())) {
      String busy = wire.begin();
      String working = boxOf(wire, busy);
      wire.send(call, busy, McpWire.run("while [ ! -e /tmp/go ]; do sleep 0.05; done; echo went"));
      await().atMost(DaemonProcess.PATIENCE).until(() -> runs(client, working));

      String idle = wire.begin();
      String left = boxOf(wire, idle);
      long used = System.nanoTime();
      assertThat(wire.post(idle, PING).status()).isEqualTo(200);
      assertEnd(events, idle, left);
      assertThat(since(used)).as("its time begins anew with each use").isGreaterThan(IDLE);
      assertThat(wire.post(idle, PING).status()).isEqualTo(404);

      assertThat(client.boxes().list(BoxQuery.all())).extracting("id").containsExactly(working);
      assertThat(client.boxes().inspect(working).state()).isEqualTo(BoxState.RUNNING);
      long going = System.nanoTime();
      client.files(working).write("/tmp/go", new byte[0]);
      call.until("went");
      assertEnd(events, busy, working);
      assertThat(since(going)).as("it was used until then").isGreaterThan(IDLE);
      await().atMost(DaemonProcess.PATIENCE).until(() -> boxes(client) == 0);
      assertThat(HostProcesses.boxedBelow(daemon.pid())).isEmpty();
    }
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }

  private static int boxes(EbbClient client) throws IOException {
    return client.boxes().list(BoxQuery.all()).size();
  }

  private static boolean runs(EbbClient client, String box) throws IOException {
    return client.execs(box).list().stream().anyMatch(exec -> !exec.hasEnded());
  }

  private static String boxOf(McpWire wire, String session) throws IOException {
    var answer = wire.post(session, McpWire.run("true"));
    String text = answer.body();
    return Json.readObject(text.substring(text.indexOf('{'), text.lastIndexOf('}') + 1))
        .object("result")
        .object("structuredContent")
        .string("box");
  }

  /** Asserts that this session ends next, and that its box was released before. */
  private static void assertEnd(BoxEvents events, String session, String box) throws IOException {
    BoxEvent released = next(events, "released");
    assertThat(released.box()).isEqualTo(box);
    assertThat(released.document().isTrue("clean")).isTrue();
    assertThat(released.document().string("certificate")).contains("nothing left");
    BoxEvent ended = next(events, "ended");
    assertThat(session).startsWith(ended.document().string("session"));
    assertThat(ended.reason()).isEqualTo("idle");
  }

  private static BoxEvent next(BoxEvents events, String state) throws IOException {
    BoxEvent event = events.next();
    while (!event.kind().equals("mcp") || !state.equals(event.state())) {
      event = events.next();
    }
    return event;
  }
}
