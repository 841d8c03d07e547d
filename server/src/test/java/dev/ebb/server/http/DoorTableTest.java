package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DoorTableTest {
  private record Named(String name, Set<Mount> mounts) implements Door {
    @Override
    public KeyPlace key() {
      return KeyPlace.BEARER;
    }

    @Override
    public List<Route> routes() {
      return List.of();
    }
  }

  private static final DoorTable TABLE =
      new DoorTable(
          List.of(
              new Named("rest", Set.of(Mount.EVERYWHERE)),
              new Named("mcp", Set.of(Mount.at("/mcp"))),
              new Named("dify", Set.of(Mount.at("/v1/sandbox"))),
              new Named("e2b", Set.of(Mount.at("/sandboxes"), Mount.host("*.boxes.test"))),
              new Named("both", Set.of(new Mount("api.boxes.test", List.of("v1"))))));

  private static List<String> parts(String path) {
    return List.of(path.substring(1).split("/", -1));
  }

  @ParameterizedTest
  @CsvSource({
    "localhost, /, rest",
    "localhost, /mcp, mcp",
    "localhost, /mcp/, mcp",
    "localhost, /mcps, rest",
    "localhost, /v1, rest",
    "localhost, /v1/boxes, rest",
    "localhost, /v1/sandbox/run, dify",
    "localhost, /sandboxes/i1, e2b",
    "49983-i1.boxes.test, /mcp, e2b",
    "api.boxes.test, /v1/x, both",
    "api.boxes.test, /v2, e2b",
    "boxes.test, /v2, rest",
    "'', /mcp, mcp"
  })
  void theHostComesFirstThenTheLongestPath(String host, String path, String door) {
    assertThat(TABLE.find(host, parts(path)).orElseThrow().door().name()).isEqualTo(door);
  }

  @Test
  void onlyAMountThatNamesTheHostVouchesForIt() {
    assertThat(TABLE.find("i1.boxes.test", parts("/x")).orElseThrow().byHost()).isTrue();
    for (String host : List.of("", "boxes.test", "localhost", "x.y.boxes.test")) {
      assertThat(TABLE.find(host, parts("/mcp")).orElseThrow().byHost()).as(host).isFalse();
    }
  }
}
