package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Agents with a stopped process: their stream stays open, but they do not answer. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonMcpStoppedAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--mcp-idle=6s");

  /** A process of {@code ebb mcp}, and its output line by line. */
  private record Bridge(Process process, BufferedReader lines) {
    private void send(String line) throws IOException {
      process.outputWriter().write(line + "\n");
      process.outputWriter().flush();
    }

    private String begin() throws IOException {
      send(McpWire.INITIALIZE);
      assertThat(Json.readObject(lines.readLine()).has("result")).isTrue();
      send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
      send(McpWire.run("echo hi"));
      return Json.readObject(lines.readLine())
          .object("result")
          .object("structuredContent")
          .string("box");
    }

    /** Answers each ping until the stream ends, as every client must. */
    private void answerPings() {
      try {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          JsonObject message = Json.readObject(line);
          assertThat(message.string("method")).isEqualTo("ping");
          send("{\"jsonrpc\":\"2.0\",\"id\":\"" + message.string("id") + "\",\"result\":{}}");
        }
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    private void signal(String name) throws IOException, InterruptedException {
      String pid = Long.toString(process.pid());
      assertThat(new ProcessBuilder("kill", "-s", name, pid).start().waitFor()).isZero();
    }
  }

  private Bridge bridge() throws IOException {
    Process process = daemon.ebb().start("mcp");
    return new Bridge(process, process.inputReader());
  }

  @Test
  void aStoppedClientLosesItsBoxAtTheBoundAndALivingOneKeepsIt() throws Exception {
    EbbClient client = daemon.client();
    Bridge living = bridge();
    String kept = living.begin();
    var pings = Thread.ofVirtual().start(living::answerPings);
    Bridge stopped = bridge();
    String lost = stopped.begin();
    stopped.signal("STOP");
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.boxes().list(BoxQuery.all()).stream().noneMatch(is(lost)));
    assertThat(client.boxes().inspect(kept).state()).isEqualTo(BoxState.RUNNING);

    stopped.signal("CONT");
    assertThat(stopped.process().waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(stopped.process().exitValue()).as("it reports the end").isEqualTo(125);
    living.process().outputWriter().close();
    assertThat(living.process().waitFor(30, TimeUnit.SECONDS)).isTrue();
    pings.join();
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
  }

  private static Predicate<Box> is(String id) {
    return box -> box.id().equals(id);
  }
}
