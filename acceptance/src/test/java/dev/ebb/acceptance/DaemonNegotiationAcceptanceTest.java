package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.ExecRequest;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Answers have the media type that the Accept header of a request prefers. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonNegotiationAcceptanceTest {
  private static final String JSON = "application/json";
  private static final String EVENTS = "text/event-stream";
  private static final String GENERATED = "application/json, text/event-stream";
  private static final Pattern TYPE = Pattern.compile("(?mi)^content-type: *([^;\\s]+)");

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private String key;

  @BeforeEach
  void makeAKey() throws Exception {
    key = DAEMON.key("--admin");
  }

  private Wire.Answer ask(String method, String path, String body, String... accept)
      throws IOException {
    var headers = new ArrayList<>(List.of("Authorization: Bearer " + key));
    List.of(accept).forEach(value -> headers.add("Accept: " + value));
    return Wire.ask(DAEMON.uri(), method, path, body, headers.toArray(String[]::new));
  }

  private String type(String method, String path, String body, String... accept)
      throws IOException {
    var answer = ask(method, path, body, accept);
    var match = TYPE.matcher(answer.head());
    assertThat(match.find()).as(answer.head()).isTrue();
    return answer.status() + " " + match.group(1).toLowerCase(Locale.ROOT);
  }

  @Test
  void whatRunsAnswersEventsOnlyIfTheyArePreferred() throws Exception {
    String box = DAEMON.client().boxes().create(BoxRequest.defaults()).id();
    String[][] routes = {
      {"/v1/run", "{\"exec\":{\"command\":[\"true\"]}}"},
      {"/v1/code", "{\"language\":\"bash\",\"code\":\"true\"}"},
      {"/v1/boxes/" + box + "/execs?wait=true", "{\"command\":[\"true\"]}"},
    };
    for (String[] route : routes) {
      assertThat(type("POST", route[0], route[1])).isEqualTo("200 " + JSON);
      assertThat(type("POST", route[0], route[1], GENERATED)).isEqualTo("200 " + JSON);
      assertThat(type("POST", route[0], route[1], EVENTS)).isEqualTo("200 " + EVENTS);
      assertThat(type("POST", route[0], route[1], JSON + ";q=0.5", EVENTS))
          .isEqualTo("200 " + EVENTS);
      assertThat(type("POST", route[0], route[1], "text/html"))
          .isEqualTo("406 application/problem+json");
    }
  }

  @Test
  void aRefusalNamesWhatIsOfferedAndNothingHasRun() throws Exception {
    var refused = ask("POST", "/v1/run", "{\"exec\":{\"command\":[\"true\"]}}", "text/html");
    assertThat(refused.body())
        .contains("\"code\":\"not-acceptable\"", "application/json, text/event-stream");
    assertThat(ask("GET", "/v1/boxes?state=gone", "").body()).contains("\"boxes\":[]");
  }

  @Test
  void outputIsBytesUnlessTheClientPrefersAnotherForm() throws Exception {
    var client = DAEMON.client();
    String box = client.boxes().create(BoxRequest.defaults()).id();
    long exec = client.execs(box).run(ExecRequest.of("echo", "hello")).exec().number();
    String path = "/v1/boxes/" + box + "/execs/" + exec + "/output";
    assertThat(ask("GET", path, "").body()).isEqualTo("hello\n");
    assertThat(type("GET", path, "", "*/*")).isEqualTo("200 application/octet-stream");
    assertThat(type("GET", path, "", GENERATED)).isEqualTo("200 " + JSON);
    assertThat(type("GET", path, "", "application/json, text/plain, */*")).isEqualTo("200 " + JSON);
    assertThat(type("GET", path, "", EVENTS + ", " + JSON + ";q=0.9")).isEqualTo("200 " + EVENTS);
    assertThat(type("GET", path, "", "image/png")).isEqualTo("406 application/problem+json");
  }

  @Test
  void everyExampleOfTheDocumentIsAccepted() throws Exception {
    JsonObject paths = Json.readObject(ask("GET", "/v1/openapi.json", "").body()).object("paths");
    String box = DAEMON.client().boxes().create(BoxRequest.defaults()).id();
    String context =
        Json.readObject(
                ask("POST", "/v1/boxes/" + box + "/contexts", "{\"language\":\"bash\"}").body())
            .string("id");
    int examples = 0;
    for (String path : paths.members().keySet()) {
      for (String method : paths.object(path).members().keySet()) {
        String example = example(paths.object(path).object(method));
        if (!example.isEmpty()) {
          String target =
              path.replace("{box}", box).replace("{context}", context).replace("{tenant}", "acme");
          var answer = ask(method.toUpperCase(Locale.ROOT), target, example);
          assertThat(answer.status()).as(path + ": " + answer.body()).isBetween(200, 201);
          examples++;
        }
      }
    }
    assertThat(examples).isEqualTo(8);
    assertThat(ask("DELETE", "/v1/quotas/acme", "").status()).isEqualTo(204);
  }

  private static String example(JsonObject operation) throws IOException {
    JsonObject body = operation.objectOrNull("requestBody");
    JsonObject content = body == null ? null : body.object("content").objectOrNull(JSON);
    JsonObject example = content == null ? null : content.objectOrNull("example");
    return example == null ? "" : Json.write(example);
  }

  @Test
  void eventsAreNotSentToAClientThatCannotReadThem() throws Exception {
    assertThat(type("GET", "/v1/events", "", JSON)).isEqualTo("406 application/problem+json");
  }

  @Test
  void metricsComeInTheFormatThatTheScraperPrefers() throws Exception {
    String open = "application/openmetrics-text";
    assertThat(type("GET", "/metrics", "")).isEqualTo("200 text/plain");
    assertThat(
            type("GET", "/metrics", "", open + ";version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1"))
        .isEqualTo("200 " + open);
    assertThat(type("GET", "/metrics", "", open + ";q=0.1, text/plain"))
        .isEqualTo("200 text/plain");
  }

  @Test
  void aClientOfMcpMustAcceptBothTypes() throws Exception {
    String body = McpWire.INITIALIZE;
    assertThat(type("POST", "/mcp", body, GENERATED)).isEqualTo("200 " + JSON);
    assertThat(type("POST", "/mcp", body, "*/*")).isEqualTo("200 " + JSON);
    assertThat(type("POST", "/mcp", body, "application/*;q=0.2, text/*")).isEqualTo("200 " + JSON);
    assertThat(type("POST", "/mcp", body, JSON)).isEqualTo("406 " + JSON);
    assertThat(type("POST", "/mcp", body, JSON + ", " + EVENTS + ";q=0")).isEqualTo("406 " + JSON);
  }
}
