package dev.ebb.testkit;

import static dev.ebb.testkit.Plant.assertSeen;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.oracle.Mount;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The detectors for what only root can make. */
@Tag("kernel")
class LeakCheckKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.CGROUPS);

  @TempDir Path directory;

  @Test
  void aCgroupOfVersion2IsSeenWithAllBelowIt() throws Exception {
    var seen = assertSeen(() -> cgroup(hierarchy("cgroup2")), "cgroup", "cgroup");
    assertThat(seen.getFirst().details()).contains("/ebb-leakcheck").endsWith("(empty)");
  }

  @Test
  void aThreadedCgroupIsSeen() throws Exception {
    Path instance = instance(hierarchy("cgroup2"));
    Path threaded = instance.resolve("threaded");
    assertSeen(
        () -> {
          Files.createDirectory(instance);
          Files.createDirectory(threaded);
          Files.writeString(threaded.resolve("cgroup.type"), "threaded");
          return () -> {
            Files.delete(threaded);
            Files.delete(instance);
          };
        },
        "cgroup",
        "cgroup");
  }

  @Test
  void aCgroupOfVersion1IsSeen() throws Exception {
    assertSeen(() -> cgroup(hierarchy("cgroup")), "cgroup", "cgroup");
  }

  @Test
  void aProcessInABoxCgroupIsSeenThere() throws Exception {
    Path cgroup = instance(hierarchy("cgroup2"));
    var seen =
        assertSeen(
            () -> {
              Files.createDirectory(cgroup);
              String procs = cgroup.resolve("cgroup.procs").toString();
              var process =
                  new ProcessBuilder("sh", "-c", "echo 0 >$0 && exec sleep 60 >&- 2>&-", procs)
                      .redirectInput(Path.of("/dev/null").toFile())
                      .redirectError(ProcessBuilder.Redirect.DISCARD)
                      .start();
              // The end of its output shows that it has moved.
              try (var output = process.getInputStream()) {
                assertThat(output.readAllBytes()).isEmpty();
              }
              return () -> {
                process.destroyForcibly().waitFor();
                Files.delete(cgroup);
              };
            },
            "process",
            "cgroup");
    assertThat(seen.getFirst().details()).contains("cgroup /ebb-leakcheck");
    assertThat(seen.getLast().details()).contains("with threads [");
  }

  @Test
  void aClaimOfUidsIsSeen() throws Exception {
    Path claims = Path.of("/run/ebb-uids");
    Path claim = claims.resolve("1");
    Path instance = Files.createDirectory(instance(directory));
    var seen =
        assertSeen(
            () -> {
              run("mkdir", "-p", "-m", "700", claims.toString());
              Files.createSymbolicLink(claim, instance);
              return () -> {
                Files.delete(claim);
                run("rmdir", "--ignore-fail-on-non-empty", claims.toString());
              };
            },
            "uid claim");
    assertThat(seen.getFirst().details()).isEqualTo(claim + " for " + instance);
  }

  @Test
  void aMountIsSeen() throws Exception {
    Path point = Files.createDirectory(instance(directory));
    var seen =
        assertSeen(
            () -> {
              run("mount", "-t", "tmpfs", "leakcheck", point.toString());
              return () -> run("umount", point.toString());
            },
            "mount");
    assertThat(seen.getFirst().details()).isEqualTo(point + " type tmpfs source leakcheck");
  }

  @Test
  void aMountNamedAfterALivingNeighbourIsTheirs() throws Exception {
    long neighbour = ProcessHandle.current().parent().orElseThrow().pid();
    Path theirs = Files.createDirectory(directory.resolve("ebb-disk-%d-1".formatted(neighbour)));
    var before = Snapshot.take();
    run("mount", "-t", "tmpfs", "leakcheck", theirs.toString());
    try {
      before.assertNoLeaks();
    } finally {
      run("umount", theirs.toString());
    }
  }

  @Test
  void aLoopDeviceIsSeen() throws Exception {
    assumeTrue(Files.exists(Path.of("/dev/loop-control")), "host lacks loop devices");
    Path image = Files.write(instance(directory), new byte[4096]);
    assertSeen(
        () -> {
          String device = run("losetup", "--find", "--show", image.toString());
          return () -> run("losetup", "--detach", device);
        },
        "loop device");
  }

  /** A cgroup in another, like a box in its instance. */
  private static Plant.Weed cgroup(Path hierarchy) throws Exception {
    Path instance = instance(hierarchy);
    Path box = instance.resolve("box");
    Files.createDirectory(instance);
    Files.createDirectory(box);
    return () -> {
      Files.delete(box);
      Files.delete(instance);
    };
  }

  private static Path instance(Path hierarchy) {
    return hierarchy.resolve("ebb-leakcheck-" + ProcessHandle.current().pid());
  }

  private static Path hierarchy(String type) throws Exception {
    var found = Mount.readAll().stream().filter(mount -> mount.type().equals(type)).findFirst();
    assumeTrue(found.isPresent(), "host lacks a hierarchy of type " + type);
    return found.orElseThrow().point();
  }

  private static String run(String... command) throws Exception {
    var process = new ProcessBuilder(List.of(command)).redirectErrorStream(true).start();
    try (var output = process.inputReader()) {
      String said = output.readAllAsString();
      assertThat(process.waitFor()).as(said).isZero();
      return said.strip();
    }
  }
}
