package dev.ebb.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.server.doors.McpSign;
import dev.ebb.server.http.DescribedRoute;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.access.Right;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The routes that the daemon publishes for the door are those of the door. */
class McpDoorTest {
  @Test
  void theOpenApiDocumentHasItsRoutes() {
    var said = new TreeSet<String>();
    var ending = new TreeSet<String>();
    for (DescribedRoute route : McpSign.SIGN.routes()) {
      String word = route.method().toLowerCase(Locale.ROOT) + " " + route.template();
      said.add(word);
      if (route.isEnding()) {
        ending.add(word);
      }
    }
    assertThat(said).containsExactly("delete /mcp", "get /mcp", "post /mcp");
    assertThat(served(false)).isEqualTo(said);
    assertThat(served(true)).isEqualTo(ending);
  }

  @Test
  void theOpenApiDocumentHasTheRightsOfItsRoutes() {
    for (DescribedRoute route : McpSign.SIGN.routes()) {
      assertThat(route.right()).isEqualTo(Right.USE);
    }
    assertThat(door().routes()).allMatch(route -> route.right() == Right.USE);
  }

  /** No route is handled here, so no sessions are needed. */
  @SuppressWarnings("NullAway")
  private static McpDoor door() {
    return new McpDoor(null, null);
  }

  @Test
  void noLimitKeepsACallerFromEndingASession() {
    assertThat(served(true)).containsExactly("delete /mcp");
  }

  private static Set<String> served(boolean onlyEnding) {
    var served = new TreeSet<String>();
    for (Route route : door().routes()) {
      if (!onlyEnding || route.isEnding()) {
        served.add(route.method().toLowerCase(Locale.ROOT) + " " + route.template());
      }
    }
    return served;
  }
}
