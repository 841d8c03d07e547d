package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Agents: the official clients of MCP, and clients that break the protocol. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonMcpAcceptanceTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension
  final DaemonProcess daemon = new DaemonProcess("--pressure-quiet=200ms", "--mcp-sessions=60");

  private String ebb() {
    return TestHost.root().resolve("ebb").toString();
  }

  private String url() {
    return daemon.uri() + "/mcp";
  }

  private NodePackage clients() throws IOException, InterruptedException {
    return McpClients.of(daemon.home());
  }

  private void awaitNoBox() throws IOException {
    awaitNoBox(daemon.client());
  }

  private void awaitNoBox(EbbClient client) {
    await().atMost(SOON).until(() -> client.boxes().list(BoxQuery.all()).isEmpty());
    await().atMost(SOON).until(() -> HostProcesses.boxedBelow(daemon.pid()).isEmpty());
  }

  private static String target(Path link) throws IOException {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (NoSuchFileException e) {
      return "closed meanwhile";
    }
  }

  private int openJarsOfMcp() throws IOException {
    int jars = 0;
    try (var files = Files.newDirectoryStream(Path.of("/proc/" + daemon.pid() + "/fd"))) {
      for (Path file : files) {
        jars += target(file).contains("/ebb/mcp/") ? 1 : 0;
      }
    }
    return jars;
  }

  // --- the official clients ---

  @Test
  void theTypeScriptClientDrivesEveryTool() throws Exception {
    var clients = clients();
    assertThat(openJarsOfMcp()).as("nothing is loaded before somebody speaks MCP").isZero();
    String tools =
        "create_box execute_code kill_process list_boxes list_files process_output read_file"
            + " remove_box run_command start_process write_file";
    assertThat(clients.run("every-tool.mjs", "stdio", ebb())).contains("drove " + tools);
    assertThat(clients.run("every-tool.mjs", "http", url(), daemon.key()))
        .contains("drove " + tools);
    assertThat(openJarsOfMcp()).isPositive();
    awaitNoBox();
    assertThat(daemon.threads()).isLessThanOrEqualTo(24);
  }

  @Test
  void theInspectorListsAndCallsTools() throws Exception {
    var clients = clients();
    String key = "Authorization: Bearer " + daemon.key();
    String[] http = {url(), "--transport", "http", "--header", key, "--method"};
    assertThat(inspect(clients, List.of(http), "tools/list").objects("tools"))
        .hasSize(11)
        .allMatch(tool -> tool.has("outputSchema"));
    JsonObject ran =
        inspect(
            clients,
            List.of(ebb(), "mcp", "--method"),
            "tools/call",
            "--tool-name",
            "run_command",
            "--tool-arg",
            "command=echo $((6*7))");
    assertThat(ran.object("structuredContent").object("stdout").string("text")).isEqualTo("42\n");
    awaitNoBox();
  }

  private static JsonObject inspect(NodePackage clients, List<String> where, String... words)
      throws Exception {
    var all = new ArrayList<>(List.of("--cli"));
    all.addAll(where);
    all.addAll(List.of(words));
    String said = clients.run(McpClients.INSPECTOR, all.toArray(String[]::new));
    return Json.readObject(said.substring(said.indexOf('{')));
  }

  @Test
  void cancellationKillsTheTree() throws Exception {
    assertThat(clients().run("cancel.mjs", "stdio", ebb())).contains("cancelled");
    assertThat(clients().run("cancel.mjs", "http", url(), daemon.key())).contains("cancelled");
    awaitNoBox();
  }

  @Test
  void theBoxOfAKilledClientIsReleased() throws Exception {
    for (String[] where : List.of(new String[] {"stdio", ebb()}, http())) {
      try (BoxEvents events = daemon.client().events()) {
        Process client = clients().start("hold.mjs", where);
        String box = client.inputReader().readLine();
        assertThat(box).startsWith("b");
        assertThat(daemon.client().boxes().inspect(box).state()).isEqualTo(BoxState.RUNNING);
        client.destroyForcibly();
        BoxEvent released = next(events, "released");
        assertThat(released.box()).isEqualTo(box);
        assertThat(released.document().isTrue("clean")).isTrue();
        assertThat(released.document().string("certificate")).contains("nothing left");
        // The bridge of an agent sees the end of its stdin, and passes it on.
        assertThat(next(events, "ended").reason())
            .isEqualTo(where[0].equals("http") ? "vanished" : "deleted");
        client.waitFor();
      }
      awaitNoBox();
    }
  }

  private String[] http() throws IOException, InterruptedException {
    return new String[] {"http", url(), daemon.key()};
  }

  private static BoxEvent next(BoxEvents events, String state) throws IOException {
    while (true) {
      BoxEvent event = events.next();
      if (event.kind().equals("mcp") && state.equals(event.state())) {
        return event;
      }
    }
  }

  @Test
  void fiftySessionsAtATimeLeaveTheDaemonAsItWas() throws Exception {
    var clients = clients();
    String[] http = http();
    EbbClient client = daemon.client();
    clients.run("many.mjs", http);
    awaitNoBox(client);
    await()
        .atMost(SOON)
        .until(() -> client.pressure().document().object("baseline").isTrue("learned"));
    int descriptors = daemon.descriptors();
    assertThat(clients.run("many.mjs", http)).contains("fifty");
    awaitNoBox(client);
    assertThat(daemon.threads()).isLessThanOrEqualTo(24);
    await().atMost(SOON).until(() -> daemon.descriptors() <= descriptors);
    JsonObject baseline = client.pressure().document().object("baseline");
    assertThat(baseline.isTrue("alarm")).as(baseline.toString()).isFalse();
    assertThat(sessions()).isEmpty();
  }

  private List<JsonObject> sessions() throws IOException, InterruptedException {
    var answer =
        Wire.ask(
            daemon.uri(),
            "GET",
            "/v1/mcp/sessions",
            "",
            "Authorization: Bearer " + daemon.key("--admin"));
    return Json.readObject(answer.body()).objects("sessions");
  }

  // --- over a pipe ---

  /** {@code ebb mcp}, spoken to line by line. */
  private record Pipe(Process process, BufferedReader said) {
    void say(String line) throws IOException {
      process.outputWriter().write(line + "\n");
      process.outputWriter().flush();
    }

    JsonObject read() throws IOException {
      return Json.readObject(said.readLine());
    }

    String begin() throws IOException {
      say(McpWire.INITIALIZE);
      assertThat(read().object("result").object("serverInfo").string("name")).isEqualTo("ebb");
      say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
      say(McpWire.run("echo hi"));
      return read().object("result").object("structuredContent").string("box");
    }
  }

  private Pipe pipe() throws IOException {
    Process process = daemon.ebb().start("mcp");
    return new Pipe(process, process.inputReader());
  }

  @Test
  void theEndOfStdinEndsTheSession() throws Exception {
    Pipe pipe = pipe();
    pipe.begin();
    pipe.process().outputWriter().close();
    assertThat(pipe.process().waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(pipe.process().exitValue()).isZero();
    assertThat(pipe.said().readLine()).isNull();
    assertThat(daemon.client().boxes().list(BoxQuery.all())).as("gone before we are").isEmpty();
  }

  @Test
  void aKilledBridgeTakesItsBoxAlong() throws Exception {
    for (boolean politely : List.of(true, false)) {
      Pipe pipe = pipe();
      String box = pipe.begin();
      assertThat(daemon.client().boxes().inspect(box).state()).isEqualTo(BoxState.RUNNING);
      if (politely) {
        pipe.process().destroy();
      } else {
        pipe.process().destroyForcibly();
      }
      pipe.process().waitFor();
      awaitNoBox();
    }
  }

  @Test
  void anInvalidMessageIsRefusedAndTheSessionGoesOn() throws Exception {
    Pipe pipe = pipe();
    pipe.begin();
    for (String line : List.of("{", "[]", "nonsense", "{\"jsonrpc\":\"2.0\",\"id\":null}")) {
      pipe.say(line);
      assertThat(pipe.read().object("error").number("code")).as(line).isBetween(-32700L, -32600L);
    }
    pipe.say("x".repeat((16 << 20) + 1));
    assertThat(pipe.read().object("error").string("message")).contains("more than 16777216 bytes");
    pipe.say(McpWire.run("echo still here"));
    JsonObject ran = pipe.read().object("result").object("structuredContent");
    assertThat(ran.object("stdout").string("text")).isEqualTo("still here\n");
    pipe.process().outputWriter().close();
    assertThat(pipe.process().waitFor()).isZero();
  }

  @Test
  void withoutItsDaemonTheBridgeEnds() throws Exception {
    Pipe pipe = pipe();
    pipe.begin();
    daemon.kill();
    assertThat(pipe.process().waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(pipe.process().exitValue()).isEqualTo(125);
    assertThat(pipe.process().errorReader().readLine()).startsWith("ebb: ");
    daemon.start();
  }

  // --- over HTTP, by hand ---

  private McpWire by(String key) {
    return new McpWire(daemon.uri(), key);
  }

  @Test
  void aSessionIsItsTenantsAlone() throws Exception {
    String ours = daemon.key("--tenant", "ours");
    String theirs = daemon.key("--tenant", "theirs");
    String session = by(ours).begin();
    String ping = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
    assertThat(by(ours).post(session, ping).status()).isEqualTo(200);
    assertThat(by(theirs).post(session, ping).status()).isEqualTo(404);
    assertThat(by(daemon.key("--admin")).post(session, ping).status()).isEqualTo(404);
    assertThat(by(theirs).end(session)).isEqualTo(404);
    assertThat(by(ours).post("no-such-session", ping).status()).isEqualTo(404);
    assertThat(by(ours).post("", ping).status()).isEqualTo(400);
    assertThat(by("no-key").post(session, ping).status()).isEqualTo(401);
    assertThat(
            Wire.ask(
                    daemon.uri(),
                    "POST",
                    "/mcp",
                    ping,
                    McpWire.ACCEPT,
                    "Origin: http://evil.example",
                    "Authorization: Bearer " + ours,
                    "Mcp-Session-Id: " + session)
                .status())
        .isEqualTo(403);
    assertThat(sessions()).singleElement().matches(each -> session.startsWith(text(each)));
    assertThat(by(ours).end(session)).isEqualTo(204);
    assertThat(by(ours).post(session, ping).status()).isEqualTo(404);
  }

  /** A progress message shows that the daemon is alive, like any other message. */
  @Test
  void aCallerThatDisconnectsDuringProgressEndsItsCommand() throws Exception {
    var wire = by(daemon.key());
    String session = wire.begin();
    try (EbbClient client = daemon.client()) {
      assertThat(wire.post(session, McpWire.run("true")).status()).isEqualTo(200);
      String box = client.boxes().list(BoxQuery.all()).getFirst().id();
      String body =
          McpWire.run("sleep 1000")
              .replace("\"params\":{", "\"params\":{\"_meta\":{\"progressToken\":\"p\"},");
      try (Wire call = Wire.to(daemon.uri())) {
        wire.send(call, session, body);
        call.until("notifications/progress");
      }
      await()
          .atMost(SOON)
          .until(() -> client.execs(box).list().stream().allMatch(exec -> exec.hasEnded()));
    }
    assertThat(wire.end(session)).isEqualTo(204);
    awaitNoBox();
  }

  private static String text(JsonObject session) {
    return String.valueOf(session.members().get("session"));
  }

  @Test
  void whatMakesNoSenseIsRefusedAndNothingElseHappens() throws Exception {
    String key = daemon.key();
    String session = by(key).begin();
    String deep = "[".repeat(20_000) + "]".repeat(20_000);
    for (String body :
        List.of("", "{", "null", "7", "[]", "[" + McpWire.INITIALIZE + "]", "{}", "\ud83d", deep)) {
      assertThat(by(key).post(session, body).status()).as(body).isEqualTo(400);
    }
    for (String params : List.of("[]", "7", "{}", "{\"name\":7}", "{\"name\":\"run_command\"}")) {
      String body = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":" + params;
      var answer = by(key).post(session, body + "}");
      assertThat(answer.status()).as(params).isEqualTo(200);
      assertThat(answer.body()).as(params).containsAnyOf("\"error\"", "\"isError\":true");
    }
    var huge =
        by(key)
            .post(session, "{\"jsonrpc\":\"2.0\",\"id\":2,\"x\":\"" + "x".repeat(17 << 20) + "\"}");
    assertThat(huge.status()).isIn(413, 0);
    assertThat(
            by(key)
                .post("", McpWire.INITIALIZE.replaceAll("\"params\":.*", "\"params\":[]}"))
                .status())
        .isEqualTo(400);
    var version =
        Wire.ask(
            daemon.uri(),
            "POST",
            "/mcp",
            McpWire.INITIALIZE,
            McpWire.ACCEPT,
            "MCP-Protocol-Version: 1999-01-01",
            "Authorization: Bearer " + key);
    assertThat(version.status()).isEqualTo(400);
    assertThat(by(key).end(session)).isEqualTo(204);
  }

  @Test
  void aTenantHasSoManySessionsAndNoMore() throws Exception {
    String key = daemon.key();
    var all = new ArrayList<String>();
    for (int i = 0; i < 60; i++) {
      all.add(by(key).begin());
    }
    var refused = by(key).post("", McpWire.INITIALIZE);
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.body()).contains("mcp.sessions");
    assertThat(by(daemon.key("--tenant", "other")).begin()).isNotEmpty();
    assertThat(by(key).end(all.getFirst())).isEqualTo(204);
    assertThat(by(key).begin()).isNotEmpty();
  }
}
