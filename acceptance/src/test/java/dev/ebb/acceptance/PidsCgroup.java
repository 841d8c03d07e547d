package dev.ebb.acceptance;

import static org.awaitility.Awaitility.await;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A cgroup that counts processes, and a host whose cgroups are read-only otherwise: what a plain
 * container has. To be registered before the extension that starts a process in it.
 */
final class PidsCgroup implements BeforeEachCallback, AfterEachCallback {
  private static final Path PIDS = Path.of("/sys/fs/cgroup/pids");

  private final int max;
  private final Path path =
      PIDS.resolve(
          "ebb-pids-%d-%d"
              .formatted(
                  ProcessHandle.current().pid(),
                  ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE)));

  PidsCgroup(int max) {
    this.max = max;
  }

  @Override
  public void beforeEach(ExtensionContext context) throws IOException {
    Assumptions.assumeTrue(
        Files.isWritable(PIDS.resolve("cgroup.procs")), "host lacks the v1 controller pids");
    Files.createDirectory(path);
    Files.writeString(path.resolve("pids.max"), Integer.toString(max));
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (Files.exists(path)) {
      await()
          .atMost(TestHost.patience(Duration.ofSeconds(30)))
          .ignoreExceptions()
          .until(() -> Files.deleteIfExists(path));
    }
  }

  /** Returns the prefix that runs a command in it. */
  List<String> runner() {
    String join = "echo $$ > " + path.resolve("cgroup.procs") + " && exec \"$0\" \"$@\"";
    return List.of("sh", "-c", join, TestHost.root().resolve("beds/none/run").toString());
  }

  /** Returns the prefix that runs a command in it with an unchanged view of the host. */
  List<String> filler() {
    return List.of(
        "sh", "-c", "echo $$ > " + path.resolve("cgroup.procs") + " && exec \"$0\" \"$@\"");
  }

  Path path() {
    return path;
  }

  /** Its processes, without zombies. */
  List<String> members() throws IOException {
    return Files.readAllLines(path.resolve("cgroup.procs"));
  }

  int current() throws IOException {
    return Integer.parseInt(Files.readString(path.resolve("pids.current")).strip());
  }
}
