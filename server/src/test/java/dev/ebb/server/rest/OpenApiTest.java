package dev.ebb.server.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.code.Languages;
import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The document says what the routes do: every route, every parameter, every field. */
class OpenApiTest {
  private static final Set<String> METHODS = Set.of("get", "put", "post", "delete");

  private final JsonObject document = read();

  private static JsonObject read() {
    try (var in = RestDoor.class.getResourceAsStream("openapi.json")) {
      return Json.readObject(in.readAllBytes());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Map<String, Object> object(Object value, String... path) {
    try {
      JsonObject at = (JsonObject) value;
      for (String name : path) {
        at = at.object(name);
      }
      return at.members();
    } catch (JsonException e) {
      throw new AssertionError(e);
    }
  }

  /** No route is handled here, so nobody needs boxes. */
  @SuppressWarnings("NullAway")
  private static List<Route> routes() {
    var house =
        new Door.House(null, Policy.STRICT, SessionLimits.DEFAULT, InstantSource.system(), "test");
    var watches = new Watches(null, null, null, null, null, null);
    return new RestDoor(house, watches, new Metrics(), Map.of("mcp", () -> DoorSessions.NONE))
        .routes();
  }

  @Test
  void itHasEveryRouteAndNoOther() {
    var served = new TreeSet<String>();
    routes().forEach(route -> served.add(route.method() + " " + route.template()));
    var said = new TreeSet<String>();
    object(document, "paths")
        .forEach(
            (path, item) ->
                // Those of another door are held to it by that door's own test.
                (path.startsWith("/mcp") ? Map.<String, Object>of() : object(item))
                    .keySet().stream()
                        .filter(METHODS::contains)
                        .forEach(method -> said.add(method.toUpperCase(Locale.ROOT) + " " + path)));
    assertThat(said).isEqualTo(served).hasSizeGreaterThan(25);
  }

  @Test
  void noLimitKeepsACallerFromARouteThatEndsSomething() {
    assertThat(routes().stream().filter(Route::isEnding).map(r -> r.method() + " " + r.template()))
        .containsExactlyInAnyOrder(
            "DELETE /v1/boxes/{box}",
            "POST /v1/boxes/{box}/stop",
            "POST /v1/boxes/{box}/kill-all",
            "POST /v1/boxes/{box}/execs/{exec}/kill",
            "DELETE /v1/boxes/{box}/contexts/{context}",
            "POST /v1/boxes/{box}/contexts/{context}/interrupt");
  }

  @Test
  void everyQueryParameterIsInIt() {
    for (Route route : routes()) {
      var operation =
          object(document, "paths", route.template(), route.method().toLowerCase(Locale.ROOT));
      var said = new TreeSet<String>();
      for (Object parameter : (List<?>) operation.getOrDefault("parameters", List.of())) {
        if ("query".equals(object(parameter).get("in"))) {
          said.add((String) object(parameter).get("name"));
        }
      }
      assertThat(said).as(route.template()).isEqualTo(new TreeSet<>(route.query()));
    }
  }

  @Test
  void everyFieldOfARequestIsInIt() {
    assertThat(known("{\"?\":1}", OpenApiTest::box)).isEqualTo(properties("BoxRequest"));
    assertThat(known("{\"limits\":{\"?\":1}}", OpenApiTest::box)).isEqualTo(properties("Limits"));
    assertThat(
            known("{\"mounts\":[{\"source\":\"/a\",\"target\":\"/b\",\"?\":1}]}", OpenApiTest::box))
        .isEqualTo(properties("Mount"));
    assertThat(
            known(
                "{\"command\":[\"a\"],\"?\":1}",
                fields -> Orders.command(fields, Duration.ZERO, Caps.NONE)))
        .isEqualTo(properties("ExecRequest"));
    assertThat(properties("CodeRequest"))
        .isEqualTo(
            union(
                known("{\"language\":\"bash\",\"code\":\"\",\"?\":1}", OpenApiTest::code),
                known(
                    "{\"language\":\"bash\",\"code\":\"\",\"rich\":true,\"?\":1}",
                    OpenApiTest::code),
                known(
                    "{\"context\":{\"box\":\"a\",\"id\":\"b\"},\"code\":\"\",\"?\":1}",
                    OpenApiTest::code)));
  }

  private static void code(Fields fields) {
    if (CellCode.isOrdered(fields)) {
      CellCode.parse(fields, Languages.ofHost(), Caps.NONE);
    } else {
      CodeOrder.parse(fields, Languages.ofHost(), Caps.NONE);
    }
  }

  @SafeVarargs
  private static Set<String> union(Set<String>... sets) {
    var all = new TreeSet<String>();
    for (Set<String> each : sets) {
      all.addAll(each);
    }
    return all;
  }

  private static void box(Fields fields) {
    Orders.box(fields, Caps.NONE);
  }

  /** An unknown field is refused with the names of the known ones. */
  private static Set<String> known(String body, Consumer<Fields> reader) {
    var names = new TreeSet<String>();
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> reader.accept(Fields.parse(body.getBytes(StandardCharsets.UTF_8))))
        .withMessageContaining("unknown field")
        .satisfies(
            problem -> {
              String message = String.valueOf(problem.getMessage());
              String list = message.substring(message.indexOf("known here: ") + 12);
              names.addAll(List.of(list.split(", ")));
            });
    return names;
  }

  private Set<String> properties(String schema) {
    return new TreeSet<>(object(document, "components", "schemas", schema, "properties").keySet());
  }

  @Test
  void everyCodeOfAProblemIsInIt() {
    var code = object(document, "components", "schemas", "Problem", "properties", "code");
    var said = (List<?>) code.getOrDefault("enum", List.of());
    var codes = new TreeSet<String>();
    for (Problem.Code each : Problem.Code.values()) {
      codes.add(each.wireName());
    }
    assertThat(said.stream().map(String::valueOf)).containsExactlyInAnyOrderElementsOf(codes);
  }
}
