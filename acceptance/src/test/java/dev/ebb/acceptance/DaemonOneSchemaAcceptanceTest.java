package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Cause;
import dev.ebb.client.CellResult;
import dev.ebb.client.Certificate;
import dev.ebb.client.CodeResult;
import dev.ebb.client.Context;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Entry;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Holding;
import dev.ebb.client.Leftovers;
import dev.ebb.client.Limits;
import dev.ebb.client.Lost;
import dev.ebb.client.Mount;
import dev.ebb.client.Pressure;
import dev.ebb.client.Release;
import dev.ebb.client.Usage;
import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A thing has the same name everywhere: in REST, {@code --json}, MCP, and the Java client. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonOneSchemaAcceptanceTest {
  private static final String SCRIPT = "echo out; echo err >&2; exit 3";

  /** Members that only MCP has for a command: where a client reads on, and truncation. */
  private static final Set<String> OF_MCP = Set.of("stdoutOffset", "stderrOffset", "truncated");

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** Returns the names of all members, and of the objects in them except counts by kind. */
  private static Set<String> names(JsonObject document) throws JsonException {
    var names = new TreeSet<String>();
    for (String name : document.members().keySet()) {
      names.add(name);
      if (document.members().get(name) instanceof JsonObject
          && !Set.of("held", "released").contains(name)) {
        names(document.object(name)).forEach(each -> names.add(name + "." + each));
      }
    }
    return names;
  }

  private JsonObject rest() throws Exception {
    try (EbbClient client = EbbClient.connect(daemon.uri(), daemon.key())) {
      return client
          .runAndRelease(BoxRequest.defaults(), ExecRequest.of("sh", "-c", SCRIPT))
          .exec()
          .document();
    }
  }

  @Test
  void aRunHasTheNamesOfRestInTheOutputOfTheCommand() throws Exception {
    var said = daemon.ebb().call("run", "--json", "--", "sh", "-c", SCRIPT);
    assertThat(said.code()).as(said.stderr()).isEqualTo(3);
    JsonObject json = Json.readObject(said.text().strip());
    var others = names(rest());
    // Without a daemon there is none that could be asked again.
    assertThat(others.remove("certificateUrl")).isTrue();
    assertThat(names(json)).isEqualTo(others).contains("usage.peakProcesses", "cause.kind");
    assertThat(json.object("stdout").string("text")).isEqualTo("out\n");
    assertThat(json.object("cause").string("kind")).isEqualTo("exited");
  }

  @Test
  void aRunHasTheNamesOfRestInTheResultOfATool() throws Exception {
    var wire = new McpWire(daemon.uri(), daemon.key());
    String session = wire.begin();
    String body = wire.post(session, McpWire.run("echo out; echo err >&2; exit 3")).body();
    JsonObject answer =
        Json.readObject(body.substring(body.indexOf('{'), body.lastIndexOf('}') + 1));
    JsonObject structured = answer.object("result").object("structuredContent");
    var others = names(structured);
    others.removeAll(names(rest()));
    assertThat(others).isSubsetOf(OF_MCP);
    assertThat(names(structured)).contains("number", "status", "exitCode", "stdout.text");
    assertThat(wire.end(session)).isEqualTo(204);
  }

  private static final Map<String, Class<? extends Record>> RECORDS =
      Map.ofEntries(
          Map.entry("BoxDetails", Box.class),
          Map.entry("Limits", Limits.class),
          Map.entry("Mount", Mount.class),
          Map.entry("Holding", Holding.class),
          Map.entry("Certificate", Certificate.class),
          Map.entry("BoxRelease", Release.class),
          Map.entry("Exec", Exec.class),
          Map.entry("Cause", Cause.class),
          Map.entry("Lost", Lost.class),
          Map.entry("BoxUsage", Usage.class),
          Map.entry("CodeFile", CodeResult.File.class),
          Map.entry("CellResult", CellResult.class),
          Map.entry("Context", Context.class),
          Map.entry("Entry", Entry.class),
          Map.entry("Pressure", Pressure.class),
          Map.entry("Gauge", Pressure.Gauge.class));

  @Test
  void theRecordsOfTheClientHaveTheNamesOfTheSchemas() throws Exception {
    String key = "Authorization: Bearer " + daemon.key();
    var answer = Wire.ask(daemon.uri(), "GET", "/v1/openapi.json", "", key);
    JsonObject schemas = Json.readObject(answer.body()).object("components").object("schemas");
    for (var each : RECORDS.entrySet()) {
      assertThat(components(each.getValue()))
          .as(each.getKey())
          .isSubsetOf(properties(schemas, schemas.object(each.getKey())));
    }
    JsonObject leftovers =
        schemas.object("Exec").object("properties").object("leftovers").object("properties");
    assertThat(components(Leftovers.class)).isEqualTo(leftovers.members().keySet());
  }

  private static Set<String> properties(JsonObject schemas, JsonObject schema)
      throws JsonException {
    var names = new TreeSet<String>();
    if (schema.has("properties")) {
      names.addAll(schema.object("properties").members().keySet());
    }
    if (schema.has("allOf")) {
      for (JsonObject part : schema.objects("allOf")) {
        String reference = part.stringOrNull("$ref");
        names.addAll(
            reference == null
                ? properties(schemas, part)
                : properties(
                    schemas, schemas.object(reference.substring(reference.lastIndexOf('/') + 1))));
      }
    }
    return names;
  }

  /** The names of members in JSON; the document itself is not a member. */
  private static Set<String> components(Class<? extends Record> type) {
    var names = new TreeSet<String>();
    for (RecordComponent each : List.of(type.getRecordComponents())) {
      String name = each.getName();
      names.add(each.getType() == Duration.class ? name + "Millis" : name);
    }
    names.remove("document");
    return names;
  }
}
