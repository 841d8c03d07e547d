package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.LeakChecked;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The daemon's own OpenAPI document: an independent validator accepts it, and a client that is
 * generated from it compiles, calls the daemon, and checks each answer against its schema.
 */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonOpenApiAcceptanceTest {
  private static final String VALIDATOR = "node_modules/@redocly/cli/bin/cli.js";
  private static final String GENERATOR = "node_modules/openapi-typescript/bin/cli.js";
  private static final String COMPILER = "node_modules/typescript/bin/tsc";

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private static NodePackage withDocument(String key) throws Exception {
    NodePackage node =
        NodePackage.install(
            "openapi",
            List.of("client.ts", "tsconfig.json"),
            Map.of("REDOCLY_TELEMETRY", "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE", "true"));
    URI uri = DAEMON.uri().resolve("/v1/openapi.json");
    HttpRequest request =
        HttpRequest.newBuilder(uri).header("Authorization", "Bearer " + key).build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      var answer =
          client.send(request, BodyHandlers.ofFile(node.directory().resolve("openapi.json")));
      assertThat(answer.statusCode()).isEqualTo(200);
    }
    return node;
  }

  @Test
  void aValidatorFindsNothingWrongWithTheDocument() throws Exception {
    NodePackage node = withDocument(DAEMON.key());
    assertThat(node.run(VALIDATOR, "lint", "--extends=recommended", "openapi.json"))
        .contains("Your API description is valid")
        .doesNotContain("Warning was", "Error was");
  }

  @Test
  void aClientThatIsGeneratedFromItCompilesAndCallsTheDaemon() throws Exception {
    String key = DAEMON.key();
    NodePackage node = withDocument(key);
    Files.deleteIfExists(node.directory().resolve("out/client.js"));
    node.run(GENERATOR, "openapi.json", "--default-non-nullable=false", "-o", "schema.ts");
    node.run(COMPILER, "-p", ".");
    assertThat(node.run("out/client.js", DAEMON.uri().toString(), key))
        .startsWith("checked ")
        .contains(
            "createBox", "run", "startExec", "runCode", "listBoxes", "writeFile", "removeBox");
  }
}
