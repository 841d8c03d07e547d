package dev.ebb.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.server.http.Route;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** What the daemon publishes of the door is what the door does. */
class McpDoorTest {
  @Test
  void theOpenApiDocumentHasItsRoutes() throws IOException {
    var file =
        TestHost.root().resolve("server/src/main/resources/dev/ebb/server/rest/openapi.json");
    var said = new TreeSet<String>();
    for (var path : new JsonMapper().readTree(Files.readString(file)).get("paths").properties()) {
      if (path.getKey().startsWith("/mcp")) {
        for (var operation : path.getValue().properties()) {
          said.add(operation.getKey() + " " + path.getKey());
        }
      }
    }
    assertThat(said).containsExactly("delete /mcp", "get /mcp", "post /mcp");
    assertThat(served(false)).isEqualTo(said);
  }

  @Test
  void noLimitKeepsACallerFromEndingASession() {
    assertThat(served(true)).containsExactly("delete /mcp");
  }

  /** No route is handled here, so nobody needs sessions. */
  @SuppressWarnings("NullAway")
  private static Set<String> served(boolean onlyEnding) {
    var served = new TreeSet<String>();
    for (Route route : new McpDoor(null, null).routes()) {
      if (!onlyEnding || route.isEnding()) {
        served.add(route.method().toLowerCase(Locale.ROOT) + " " + route.template());
      }
    }
    return served;
  }
}
