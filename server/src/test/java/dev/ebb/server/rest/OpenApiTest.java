package dev.ebb.server.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import dev.ebb.server.doors.McpSign;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.JsonOutput;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.http.Route;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.access.Policy;
import dev.ebb.testkit.TestHost;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The document contains the descriptions of the routes, and these are correct. */
class OpenApiTest {
  private static final Pattern REFERENCE = Pattern.compile("\"#/components/(\\w+)/(\\w+)\"");

  private final String text = text();

  private static String text() {
    var document = new OpenApi(routes(), McpSign.SIGN.routes()).write();
    return new String(JsonOutput.write(document), StandardCharsets.UTF_8);
  }

  private JsonObject document() throws JsonException {
    return Json.readObject(text.getBytes(StandardCharsets.UTF_8));
  }

  /** No route is handled here, so no boxes are needed. */
  @SuppressWarnings("NullAway")
  private static List<Route> routes() {
    var house =
        new Door.House(null, Policy.STRICT, SessionLimits.DEFAULT, InstantSource.system(), "test");
    var watches = new Watches(null, null, null, null, null, null);
    return new RestDoor(
            house,
            watches,
            new Metrics(),
            Map.of("mcp", () -> DoorSessions.NONE),
            McpSign.SIGN.routes())
        .routes();
  }

  @Test
  void itHasEveryRouteAndNoOther() throws JsonException {
    var served = new TreeSet<String>();
    routes().forEach(route -> served.add(route.method() + " " + route.template()));
    McpSign.SIGN.routes().forEach(route -> served.add(route.method() + " " + route.template()));
    var said = new TreeSet<String>();
    JsonObject paths = document().object("paths");
    for (String path : paths.members().keySet()) {
      for (String method : paths.object(path).members().keySet()) {
        said.add(method.toUpperCase(Locale.ROOT) + " " + path);
      }
    }
    assertThat(said).isEqualTo(served).hasSizeGreaterThan(45);
  }

  @Test
  void eachOperationHasANameOfItsOwn() {
    var names = new ArrayList<String>();
    routes().forEach(route -> names.add(route.operation().orElseThrow().id()));
    McpSign.SIGN.routes().forEach(route -> names.add(route.operation().id()));
    assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.matches("[a-z][A-Za-z]+"));
  }

  @Test
  void whatIsReferredToIsThereAndNothingElse() throws JsonException {
    var meant = new TreeSet<String>();
    REFERENCE
        .matcher(text)
        .results()
        .forEach(each -> meant.add(each.group(1) + "/" + each.group(2)));
    var there = new TreeSet<String>();
    for (String kind : List.of("schemas", "responses")) {
      document()
          .object("components")
          .object(kind)
          .members()
          .keySet()
          .forEach(name -> there.add(kind + "/" + name));
    }
    assertThat(there).isEqualTo(meant).hasSizeGreaterThan(60);
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

  // --- what is described is what is read and written ---

  private static final Field<Optional<String>> KNOWN = Field.text("known");
  private static final Field<Optional<String>> OTHER = Field.text("other");

  private static Fields fields(RequestSchema schema) {
    return Fields.parse("{\"known\":\"a\",\"other\":\"b\"}".getBytes(StandardCharsets.UTF_8))
        .as(schema);
  }

  @Test
  void aFieldThatIsNotDescribedIsNotRead() {
    Fields fields = fields(RequestSchema.inline(KNOWN));
    assertThat(fields.get(KNOWN)).hasValue("a");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> fields.get(OTHER))
        .withMessage("\"other\" is in no schema");
  }

  @Test
  void aFieldThatIsDescribedIsRead() {
    Fields fields = fields(RequestSchema.inline(KNOWN, OTHER));
    fields.get(KNOWN);
    assertThatIllegalStateException().isThrownBy(fields::end).withMessageContaining("[known] read");
    fields.get(OTHER);
    fields.end();
  }

  /** The door reads its requests by fields and parameters that are described, never by a name. */
  @Test
  void noRouteReadsByAName() {
    var classes =
        new ClassFileImporter()
            .importPaths(TestHost.root().resolve("server/target/classes/dev/ebb/server/rest"));
    var byName = new ArrayList<String>();
    var byField = new ArrayList<String>();
    for (var type : classes) {
      for (var call : type.getMethodCallsFromSelf()) {
        var target = call.getTarget();
        boolean isRequest =
            target.getOwner().isEquivalentTo(Fields.class)
                || target.getOwner().isEquivalentTo(Exchange.class);
        boolean isNamed =
            target.getRawParameterTypes().stream()
                .anyMatch(each -> each.isEquivalentTo(String.class));
        if (isRequest && isNamed && !target.getRawReturnType().getName().equals("void")) {
          byName.add(call.getDescription());
        }
        if (isRequest && target.getName().equals("get")) {
          byField.add(call.getDescription());
        }
      }
    }
    assertThat(byField).as("the rule would see it").hasSizeGreaterThan(60);
    assertThat(byName).filteredOn(call -> !isExcepted(call)).isEmpty();
  }

  /** A word or an object, and headers that all routes know. */
  private static boolean isExcepted(String call) {
    return call.contains("Orders.network(")
        || call.contains("Exchange.accepts(")
        || call.contains("Exchange.stream(")
        || call.contains("Fields.utf8(")
        || call.contains("MetricsRoute.scrape(");
  }

  @Test
  void aMemberIsRequiredIfItIsAlwaysWritten() {
    record Pair(String always, Optional<String> sometimes) {}
    ObjectSchema<Pair> schema =
        ObjectSchema.<Pair>inline()
            .has("always", Values.TEXT, Pair::always)
            .may("sometimes", Values.TEXT, Pair::sometimes);
    assertThat(schema.describe(new Components())).containsEntry("required", List.of("always"));
    assertThat(schema.write(new Pair("a", Optional.empty()))).isEqualTo(Map.of("always", "a"));
    assertThat(schema.write(new Pair("a", Optional.of("b"))))
        .isEqualTo(Map.of("always", "a", "sometimes", "b"));
  }

  @Test
  void twoSchemasOfOneNameAreRefused() {
    var components = new Components();
    ObjectSchema.<String>named("One").describe(components);
    assertThatIllegalStateException()
        .isThrownBy(() -> ObjectSchema.<String>named("One").describe(components))
        .withMessage("two schemas are named One");
  }

  @Test
  void aPathHasTheParametersOfItsOperation() {
    var operation = Operation.of("read", "").with(Parameter.path("box"), Parameter.text("limit"));
    Route route = Route.of("GET", "/a/{box}", _ -> {}, operation);
    assertThat(route.query()).isEqualTo(Set.of("limit"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Route.of("GET", "/a/{other}", _ -> {}, operation))
        .withMessage("/a/{other} has other parameters than read");
  }
}
