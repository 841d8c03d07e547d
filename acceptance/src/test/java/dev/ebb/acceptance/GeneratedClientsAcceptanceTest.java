package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Clients that openapi-generator makes of the daemon's document, in Java and Python, compile and
 * run the calls of the README. The generator and the libraries of the clients come from Maven
 * Central and from PyPI.
 */
@Tag("kernel")
@Tag("long")
@LeakChecked
@Timeout(900)
final class GeneratedClientsAcceptanceTest {
  private static final String VERSION = "7.25.0";
  private static final URI GENERATOR =
      URI.create(
          "https://repo.maven.apache.org/maven2/org/openapitools/openapi-generator-cli/%s/openapi-generator-cli-%s.jar"
              .formatted(VERSION, VERSION));

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private static Path directory() throws IOException {
    Path target = TestHost.root().resolve("acceptance/target");
    assumeTrue(Files.isWritable(target), "host lacks a clone that can be written");
    return Files.createDirectories(target.resolve("generated-clients"));
  }

  private static Path fetch(URI uri, Path file, String... headers) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(uri);
    if (headers.length > 0) {
      request.headers(headers);
    }
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try (HttpClient client = HttpClient.newHttpClient()) {
      var answer = client.send(request.build(), BodyHandlers.ofFile(part));
      assertThat(answer.statusCode()).as(uri.toString()).isEqualTo(200);
    }
    return Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
  }

  private static String run(Path directory, List<String> words) throws Exception {
    var builder = new ProcessBuilder(words).directory(directory.toFile()).redirectErrorStream(true);
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    Process process = builder.start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
    return said;
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin/java").toString();
  }

  /** Generates a client of the document that the daemon serves now. */
  private static Path generate(String language, String key, String... options) throws Exception {
    Path directory = directory();
    Path generator = directory.resolve("generator-" + VERSION + ".jar");
    if (!Files.exists(generator)) {
      fetch(GENERATOR, generator);
    }
    Path document =
        fetch(
            DAEMON.uri().resolve("/v1/openapi.json"),
            directory.resolve(language + ".json"),
            "Authorization",
            "Bearer " + key);
    Path client = directory.resolve(language);
    var words =
        List.of(
            java(),
            "-jar",
            generator.toString(),
            "generate",
            "-g",
            language,
            "-i",
            document.toString(),
            "-o",
            client.toString());
    var all = new ArrayList<>(words);
    all.addAll(List.of(options));
    run(directory, all);
    return client;
  }

  private static Path copy(String file, Path directory) throws IOException {
    Path copy = directory.resolve(file);
    try (InputStream in =
        GeneratedClientsAcceptanceTest.class.getResourceAsStream("openapi/" + file)) {
      Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
    }
    return copy;
  }

  @Test
  void aGeneratedClientInJavaRunsTheCallsOfTheReadme() throws Exception {
    String key = DAEMON.key();
    Path client = generate("java", key, "--library", "native");
    copy("Call.java", Files.createDirectories(client.resolve("src/main/java")));
    run(
        client,
        List.of(
            "mvn",
            "-B",
            "-ntp",
            "-q",
            "-Dmaven.test.skip=true",
            "compile",
            "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath",
            "-Dmdep.outputFile=class-path"));
    String path = "target/classes:" + Files.readString(client.resolve("class-path")).strip();
    assertThat(run(client, List.of(java(), "-cp", path, "Call", DAEMON.uri().toString(), key)))
        .endsWith("called\n");
  }

  @Test
  void aGeneratedClientInPythonRunsTheCallsOfTheReadme() throws Exception {
    String key = DAEMON.key();
    Path client = generate("python", key);
    Path libraries = client.resolveSibling("python-libraries");
    if (!Files.exists(libraries.resolve("pydantic"))) {
      run(
          client,
          List.of(
              "python3",
              "-m",
              "pip",
              "install",
              "-q",
              "--target",
              libraries.toString(),
              "-r",
              "requirements.txt"));
    }
    Path call = copy("call.py", client);
    assertThat(
            run(
                client,
                List.of(
                    "env",
                    "PYTHONPATH=" + libraries + ":" + client,
                    "python3",
                    call.toString(),
                    DAEMON.uri().toString(),
                    key)))
        .endsWith("called\n");
  }
}
