package dev.ebb.cgroup;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;

/** Cgroups of one test in the host's own hierarchies; closing leaves none, whatever it did. */
final class RealCgroups implements AutoCloseable {
  private final Scope scope = new Scope();
  private final Hierarchies hierarchies = Hierarchies.detect();
  private final String name =
      "ebb-test-%d-%d"
          .formatted(
              ProcessHandle.current().pid(),
              ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE));
  private final EmptyWait emptyWait;

  RealCgroups() throws IOException, KernelException {
    emptyWait = EmptyWait.on(Poller.start(scope, "test-cgroups"));
  }

  Hierarchies hierarchies() {
    return hierarchies;
  }

  /** The name of all of them in their hierarchy. */
  String name() {
    return name;
  }

  EmptyWait emptyWait() {
    return emptyWait;
  }

  Cgroup create(String below) throws IOException {
    return create(hierarchies.unified().orElseThrow(), below);
  }

  /** Skips the test where there is no such hierarchy. */
  Cgroup createVersion1(String controller, String below) throws IOException {
    Path root = hierarchies.version1().get(controller);
    Assumptions.assumeTrue(root != null, "host lacks the v1 controller " + controller);
    return create(Objects.requireNonNull(root), below);
  }

  private Cgroup create(Path root, String below) throws IOException {
    return new Cgroup(Files.createDirectories(root.resolve(name).resolve(below)));
  }

  static void move(int pid, Path cgroup) throws IOException {
    Files.writeString(cgroup.resolve("cgroup.procs"), Integer.toString(pid));
  }

  /** Kills whatever is left in them, by means of the kernel alone. */
  void endAll() throws IOException {
    Path freezer = hierarchies.version1().get("freezer");
    if (freezer != null) {
      for (Path path : below(freezer)) {
        Files.writeString(path.resolve("freezer.state"), "THAWED");
      }
    }
    Path unified = hierarchies.unified().orElseThrow().resolve(name);
    if (Files.exists(unified)) {
      Files.writeString(unified.resolve("cgroup.kill"), "1");
    }
  }

  @Override
  public void close() throws IOException, KernelException {
    endAll();
    for (Path root : hierarchies.everywhere("")) {
      Awaitility.await().ignoreExceptions().until(() -> remove(root));
    }
    scope.close();
  }

  private boolean remove(Path root) throws IOException {
    for (Path path : below(root).reversed()) {
      Files.delete(path);
    }
    return true;
  }

  /** Parents before their children. */
  private List<Path> below(Path root) throws IOException {
    if (!Files.exists(root.resolve(name))) {
      return List.of();
    }
    try (var all = Files.walk(root.resolve(name))) {
      return all.filter(Files::isDirectory).toList();
    }
  }
}
