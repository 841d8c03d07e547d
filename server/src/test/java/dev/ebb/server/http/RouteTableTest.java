package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RouteTableTest {
  private static Route route(String method, String template) {
    return Route.of(method, template, _ -> {});
  }

  @Test
  void aPathLeadsToItsRoutesAndNames() {
    var get = route("GET", "/v1/boxes/{box}");
    var stop = route("POST", "/v1/boxes/{box}/execs/{exec}/kill");
    var table = new RouteTable(List.of(get, route("DELETE", "/v1/boxes/{box}"), stop));

    var found = table.find(List.of("v1", "boxes", "b1")).orElseThrow();
    assertThat(found.route("GET")).contains(get);
    assertThat(found.route("PUT")).isEmpty();
    assertThat(found.methods()).containsExactly("DELETE", "GET");
    assertThat(found.names()).isEqualTo(Map.of("box", "b1"));
    assertThat(table.find(List.of("v1", "boxes", "b1", "execs", "2", "kill")).orElseThrow().names())
        .isEqualTo(Map.of("box", "b1", "exec", "2"));
  }

  @Test
  void aPartOfAPathIsNotFound() {
    var table = new RouteTable(List.of(route("GET", "/v1/boxes/{box}/files/stat")));
    for (var path :
        List.of(
            List.<String>of(),
            List.of(""),
            List.of("v1"),
            List.of("v1", "boxes", "b", "files"),
            List.of("v1", "boxes", "b", "files", "stat", ""),
            List.of("v2", "boxes", "b", "files", "stat"))) {
      assertThat(table.find(path)).as(path.toString()).isEmpty();
    }
  }

  @Test
  void aLiteralPartComesBeforeAName() {
    var table = new RouteTable(List.of(route("GET", "/a/{x}"), route("GET", "/a/b")));
    assertThat(table.find(List.of("a", "b")).orElseThrow().names()).isEmpty();
    assertThat(table.find(List.of("a", "c")).orElseThrow().names()).containsEntry("x", "c");
  }

  @Test
  void routesThatContradictEachOtherAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new RouteTable(List.of(route("GET", "/a"), route("GET", "/a"))));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new RouteTable(List.of(route("GET", "/{x}/b"), route("GET", "/{y}/c"))));
  }
}
