package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Every route of the table and every method of MCP, with the largest values that they take, 100
 * times over, under a small heap: the daemon lives, serves another tenant, and keeps nothing.
 */
@Tag("attack")
@Tag("kernel")
@LeakChecked
@Timeout(900)
final class HeapWalkAttackTest {
  private static final int TIMES = 100;
  private static final int ROUNDS_AT_A_TIME = 4;
  private static final int MIB = 1 << 20;
  private static final String LONG = "x".repeat(3 * MIB);

  /** Requests that last for as long as the caller listens. */
  private static final Set<String> STREAMS = Set.of("/v1/events", "/mcp");

  private static final Set<String> METHODS = Set.of("get", "post", "put", "delete");

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          List::of, Map.of("JDK_JAVA_OPTIONS", "-Xmx128m -XX:+ExitOnOutOfMemoryError"));

  private String key = "";

  private Wire.Answer ask(String method, String target, String body, String... headers)
      throws IOException {
    var all = new ArrayList<>(List.of(headers));
    all.add("Authorization: Bearer " + key);
    return Wire.ask(
        daemon.uri(),
        method,
        target,
        body.getBytes(StandardCharsets.US_ASCII),
        all.toArray(String[]::new));
  }

  /** The largest that a route takes, or what is as large and refused. */
  private static String body(String path) {
    String text = "\"" + LONG + "\"";
    if (path.endsWith("/execs")) {
      return "{\"command\":[\"sleep\",\"600\"],\"environment\":{\"A\":\""
          + LONG.substring(0, 100_000)
          + "\"},\"input\":{\"text\":"
          + text
          + "}}";
    }
    if (path.equals("/v1/run")) {
      return "{\"exec\":{\"command\":[\"head\",\"-c\",\"2000000\",\"/dev/zero\"],\"input\":{\"text\":"
          + text
          + "}}}";
    }
    if (path.equals("/v1/code")) {
      return "{\"language\":\"bash\",\"code\":\"head -c 1000000 /dev/zero > out\",\"outputs\":[\"out\"],"
          + "\"files\":[{\"path\":\"a\",\"content\":{\"text\":"
          + text
          + "}}]}";
    }
    if (path.endsWith("/cells")) {
      return "{\"code\":\"# " + LONG + "\"}";
    }
    if (path.equals("/v1/boxes")) {
      return "{\"labels\":{\"a\":\""
          + "l".repeat(256)
          + "\"},\"files\":[{\"path\":\"a\",\"content\":{\"text\":"
          + text
          + "}}]}";
    }
    return "{\"a\":" + text + "}";
  }

  /** So that nothing is left of one route when the next is walked. */
  private void walkInABoxOfItsOwn(
      EbbClient a, String method, String path, Map<String, Map<Integer, Integer>> seen)
      throws IOException, InterruptedException {
    Box box =
        a.boxes().create(BoxRequest.defaults().withLimits(new Limits(512L << 20, 256, null, null)));
    a.execs(box.id()).start(ExecRequest.of("sleep", "600"));
    assertThat(
            ask("POST", "/v1/boxes/" + box.id() + "/contexts", "{\"language\":\"bash\"}").status())
        .isEqualTo(201);
    walk(method, path, box.id(), seen);
    for (Box each : a.boxes().list(BoxQuery.all())) {
      a.boxes().remove(each.id(), true);
    }
  }

  private void walk(String method, String path, String box, Map<String, Map<Integer, Integer>> seen)
      throws InterruptedException {
    String target =
        path.replace("{box}", box)
            .replace("{exec}", "1")
            .replace("{context}", "c1")
            .replace("{subject}", "s".repeat(4000))
            .replace("{tenant}", "t".repeat(60));
    if (path.contains("/files")) {
      target += path.endsWith("/move") ? "?from=a&to=b" : "?path=/workspace";
    }
    String ask = target;
    String body = method.equals("GET") || method.equals("DELETE") ? "" : body(path);
    var threads = new ArrayList<Thread>();
    Map<Integer, Integer> statuses =
        seen.computeIfAbsent(method + " " + path, _ -> new TreeMap<>());
    int times = body.length() > MIB ? TIMES / 5 : TIMES;
    for (int i = 0; i < ROUNDS_AT_A_TIME; i++) {
      threads.add(
          Thread.ofPlatform()
              .name("walker-" + i)
              .start(
                  () -> {
                    for (int n = 0; n < times / ROUNDS_AT_A_TIME; n++) {
                      int status = status(method, ask, body);
                      synchronized (statuses) {
                        statuses.merge(status, 1, Integer::sum);
                      }
                    }
                  }));
    }
    for (Thread each : threads) {
      each.join();
    }
  }

  private int status(String method, String target, String body) {
    try {
      return ask(method, target, body).status();
    } catch (IOException e) {
      return 0;
    }
  }

  private void walkMcp() throws IOException {
    var wire = new McpWire(daemon.uri(), key);
    String session = wire.begin();
    for (String method :
        List.of(
            "initialize",
            "ping",
            "tools/list",
            "tools/call",
            "resources/list",
            "prompts/list",
            "completion/complete",
            "logging/setLevel",
            "notifications/cancelled",
            "notifications/progress",
            "notifications/initialized")) {
      String id = method.startsWith("notifications/") ? "" : "\"id\":\"" + "i".repeat(256) + "\",";
      String message =
          "{\"jsonrpc\":\"2.0\","
              + id
              + "\"method\":\""
              + method
              + "\",\"params\":{\"name\":\"write_file\",\"requestId\":\""
              + LONG
              + "\",\"arguments\":{\"path\":\"a\",\"content\":\""
              + LONG
              + "\"}}}";
      for (int i = 0; i < TIMES / 10; i++) {
        assertThat(wire.post(session, message).status()).as(method).isNotEqualTo(0);
      }
    }
    wire.end(session);
  }

  @Test
  void theLargestValuesOfAllRoutesDoNotEndTheDaemon() throws Exception {
    key = daemon.key("--tenant", "a");
    EbbClient a = daemon.client(key);
    EbbClient b = daemon.client(daemon.key("--tenant", "b"));
    JsonObject paths = Json.readObject(ask("GET", "/v1/openapi.json", "").body()).object("paths");
    var seen = new TreeMap<String, Map<Integer, Integer>>();
    for (String path : paths.members().keySet()) {
      for (String method : paths.object(path).members().keySet()) {
        boolean isEnd =
            path.endsWith("/stop") || path.endsWith("/wait") || path.endsWith("/terminal");
        boolean isOurs = method.equals("delete") && path.equals("/v1/boxes/{box}");
        boolean isStream = method.equals("get") && STREAMS.contains(path);
        if (METHODS.contains(method) && !isEnd && !isOurs && !isStream) {
          walkInABoxOfItsOwn(a, method.toUpperCase(java.util.Locale.ROOT), path, seen);
        }
      }
      assertThat(b.run(BoxRequest.defaults(), ExecRequest.of("true")).exec().exitCode()).isZero();
    }
    walkMcp();
    seen.forEach((route, statuses) -> System.out.println("attack: " + route + " " + statuses));
    assertThat(seen.values()).noneSatisfy(each -> assertThat(each).containsKey(500));
    for (Box each : a.boxes().list(BoxQuery.all())) {
      a.boxes().remove(each.id(), true);
    }
    await().atMost(DaemonProcess.PATIENCE).until(() -> daemon.gauge("ebb_kept_bytes") <= 32 * 1024);
    assertThat(b.run(BoxRequest.defaults(), ExecRequest.of("true")).exec().exitCode()).isZero();
  }
}
