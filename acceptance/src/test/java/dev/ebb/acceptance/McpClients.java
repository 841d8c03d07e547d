package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The official clients of MCP, as npm has them: installed once, by the lock file beside the
 * scripts, below {@code target}.
 */
final class McpClients {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofMinutes(2));
  private static final List<String> FILES =
      List.of(
          "package.json",
          "package-lock.json",
          "client.mjs",
          "every-tool.mjs",
          "cancel.mjs",
          "hold.mjs",
          "many.mjs");

  private final Path home;
  private final Path directory;

  private McpClients(Path home, Path directory) {
    this.home = home;
    this.directory = directory;
  }

  /** With {@code home} for the {@code ebb mcp} that they start. */
  static McpClients of(Path home) throws IOException, InterruptedException {
    assumeTrue(isThere("npm"), "host lacks npm");
    Path target = TestHost.root().resolve("acceptance/target");
    assumeTrue(Files.isWritable(target), "host lacks a clone that can be written");
    Path directory = Files.createDirectories(target.resolve("mcp-clients"));
    var open = new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE};
    try (var lock = FileChannel.open(target.resolve("mcp-clients.lock"), open);
        var _ = lock.lock()) {
      install(directory);
    }
    return new McpClients(home, directory);
  }

  private static boolean isThere(String program) {
    return Files.isExecutable(Path.of("/usr/bin", program))
        || Files.isExecutable(Path.of("/usr/local/bin", program));
  }

  private static void install(Path directory) throws IOException, InterruptedException {
    for (String file : FILES) {
      try (InputStream in = McpClients.class.getResourceAsStream("mcp/" + file)) {
        Files.copy(in, directory.resolve(file), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    Path done = directory.resolve("installed");
    String wanted = Files.readString(directory.resolve("package-lock.json"));
    if (Files.exists(done) && Files.readString(done).equals(wanted)) {
      return;
    }
    Process npm =
        new ProcessBuilder("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .start();
    String said = new String(npm.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(npm.waitFor()).as(said).isZero();
    Files.writeString(done, wanted);
  }

  /** What a script says, which must succeed. */
  String run(String script, String... arguments) throws IOException, InterruptedException {
    Process node = start(script, arguments);
    node.getOutputStream().close();
    String said = new String(node.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(node.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).as(said).isTrue();
    assertThat(node.exitValue()).as(said).isZero();
    return said;
  }

  Process start(String script, String... arguments) throws IOException {
    var words = new ArrayList<>(List.of("node", directory.resolve(script).toString()));
    words.addAll(List.of(arguments));
    var builder = new ProcessBuilder(words).redirectErrorStream(true);
    builder.environment().put("EBB_HOME", home.toString());
    builder.environment().put("EBB_BUILD", "never");
    return builder.start();
  }

  /** The Inspector's command line. */
  static final String INSPECTOR = "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js";
}
