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
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Scripts for Node.js, and what they need from npm: installed once, by the lock file beside them,
 * below {@code target}.
 */
final class NodePackage {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofMinutes(2));

  private final Path directory;
  private final Map<String, String> environment;

  private NodePackage(Path directory, Map<String, String> environment) {
    this.directory = directory;
    this.environment = Map.copyOf(environment);
  }

  /**
   * Installs a package.
   *
   * @param resources the directory of its files beside this class
   * @param files the files to copy beside package.json and its lock
   * @param environment for the programs that run there
   */
  static NodePackage install(String resources, List<String> files, Map<String, String> environment)
      throws IOException, InterruptedException {
    assumeTrue(isThere("npm"), "host lacks npm");
    Path target = TestHost.root().resolve("acceptance/target");
    assumeTrue(Files.isWritable(target), "host lacks a clone that can be written");
    Path directory = Files.createDirectories(target.resolve(resources + "-clients"));
    var open = new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE};
    try (var lock = FileChannel.open(target.resolve(resources + "-clients.lock"), open);
        var _ = lock.lock()) {
      for (String file : files) {
        copy(resources, file, directory);
      }
      install(resources, directory);
    }
    return new NodePackage(directory, environment);
  }

  private static boolean isThere(String program) {
    return Files.isExecutable(Path.of("/usr/bin", program))
        || Files.isExecutable(Path.of("/usr/local/bin", program));
  }

  private static void copy(String resources, String file, Path directory) throws IOException {
    try (InputStream in = NodePackage.class.getResourceAsStream(resources + "/" + file)) {
      Files.copy(in, directory.resolve(file), StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static void install(String resources, Path directory)
      throws IOException, InterruptedException {
    copy(resources, "package.json", directory);
    copy(resources, "package-lock.json", directory);
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

  Path directory() {
    return directory;
  }

  /** Returns the output of a script, which must succeed. */
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
    var builder = new ProcessBuilder(words).directory(directory.toFile()).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return builder.start();
  }
}
