package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Every route and every method of MCP, with a key of every role. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonRolesAcceptanceTest {
  private static final Set<String> METHODS = Set.of("get", "post", "put", "delete", "patch");

  private static final Set<String> OPEN = Set.of("get /healthz", "get /readyz");

  private static final Set<String> OF_ADMINS =
      Set.of(
          "get /v1/why/{subject}",
          "get /v1/sweep",
          "post /v1/sweep",
          "get /v1/pool",
          "get /v1/pressure",
          "get /v1/quotas",
          "put /v1/quotas/{tenant}",
          "delete /v1/quotas/{tenant}");

  /** These read by their method, but what they open also takes input. */
  private static final Set<String> OF_USERS =
      Set.of("get /mcp", "get /v1/boxes/{box}/execs/{exec}/terminal");

  private static final List<String> OF_MCP =
      List.of("initialize", "ping", "tools/list", "tools/call", "notifications/cancelled");

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private final Map<String, String> keys = new LinkedHashMap<>();

  @BeforeEach
  void makeKeys() throws Exception {
    for (String role : List.of("metrics", "viewer", "user", "admin")) {
      keys.put(role, DAEMON.key("--role", role));
    }
  }

  /** No request here does anything: none has a body or a box, and none accepts an answer. */
  private Wire.Answer ask(String role, String method, String path, String body) throws IOException {
    return Wire.ask(
        DAEMON.uri(),
        method.toUpperCase(Locale.ROOT),
        path,
        body,
        "Authorization: Bearer " + keys.get(role),
        "Accept: image/png");
  }

  private static boolean isDenied(Wire.Answer answer) {
    return answer.status() == 403 && answer.body().contains("this key has the role");
  }

  private static boolean mayUse(String role, String route) {
    return switch (role) {
      case "admin" -> true;
      case "metrics" -> route.equals("get /metrics");
      case "viewer" ->
          route.startsWith("get ")
              && !OF_ADMINS.contains(route)
              && !OF_USERS.contains(route)
              && !route.equals("get /metrics");
      default -> !OF_ADMINS.contains(route) && !route.equals("get /metrics");
    };
  }

  private JsonObject paths() throws IOException {
    var answer =
        Wire.ask(
            DAEMON.uri(),
            "GET",
            "/v1/openapi.json",
            "",
            "Authorization: Bearer " + keys.get("admin"));
    return Json.readObject(answer.body()).object("paths");
  }

  @Test
  void eachRouteIsForTheRolesThatTheTableNames() throws Exception {
    JsonObject paths = paths();
    int asked = 0;
    for (String path : paths.members().keySet()) {
      for (String method : paths.object(path).members().keySet()) {
        String route = method + " " + path;
        if (METHODS.contains(method) && !OPEN.contains(route)) {
          String target = path.replaceAll("\\{[a-z]+}", "1");
          for (String role : keys.keySet()) {
            asked++;
            assertThat(isDenied(ask(role, method, target, "")))
                .as(role + ": " + route)
                .isEqualTo(!mayUse(role, route));
          }
        }
      }
    }
    assertThat(asked).isGreaterThan(4 * 40);
  }

  @Test
  void theDocumentNamesTheRolesOfEachRoute() throws Exception {
    JsonObject paths = paths();
    for (String path : paths.members().keySet()) {
      for (String method : paths.object(path).members().keySet()) {
        String route = method + " " + path;
        if (METHODS.contains(method) && !OPEN.contains(route)) {
          var may = new ArrayList<String>();
          keys.keySet().stream().filter(role -> mayUse(role, route)).forEach(may::add);
          assertThat(paths.object(path).object(method).strings("x-ebb-roles"))
              .as(route)
              .isEqualTo(may);
        }
      }
    }
  }

  @Test
  void everyMethodOfMcpIsForUsersAndAdmins() throws Exception {
    for (String method : OF_MCP) {
      String body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" + method + "\",\"params\":{}}";
      for (String role : keys.keySet()) {
        assertThat(isDenied(ask(role, "post", "/mcp", body)))
            .as(role + ": " + method)
            .isEqualTo(Set.of("metrics", "viewer").contains(role));
      }
    }
  }

  @Test
  void aKeyForMetricsReadsThemAndRunsNothing() throws Exception {
    String bearer = "Authorization: Bearer " + keys.get("metrics");
    assertThat(Wire.ask(DAEMON.uri(), "GET", "/metrics", "", bearer).body()).contains("ebb_boxes{");
    var run =
        Wire.ask(DAEMON.uri(), "POST", "/v1/run", "{\"exec\":{\"command\":[\"true\"]}}", bearer);
    assertThat(run.status()).isEqualTo(403);
    assertThat(run.body()).contains("this key has the role metrics; needed: user or admin");
  }

  @Test
  void keysAreListedWithTheirRoles() throws Exception {
    assertThat(DAEMON.ebb().call("key", "ls").text()).contains(" metrics ", " viewer ", " admin ");
    var unknown = DAEMON.ebb().call("key", "create", "--role", "root");
    assertThat(unknown.code()).isEqualTo(125);
    assertThat(unknown.stderr()).contains("no role \"root\": metrics, viewer, user, admin");
    assertThat(DAEMON.ebb().call("key", "create", "--admin", "--role", "viewer").code())
        .isEqualTo(125);
  }
}
