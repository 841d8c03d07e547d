package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The packaged ebb, run by a user that is not root and has no cgroup. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class OrdinaryUserAcceptanceTest {
  private static final int USER = 65_533;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP);

  /** All that the user has: the clone itself may be out of his sight. */
  @TempDir Path place;

  private Path home;

  private record Run(int code, String out) {}

  @BeforeEach
  void moveIn() throws IOException {
    Files.setPosixFilePermissions(place, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path lib = Files.createDirectory(place.resolve("lib"));
    try (var jars = Files.list(TestHost.root().resolve("dist/target/ebb/lib"))) {
      for (Path jar : jars.toList()) {
        Files.copy(jar, lib.resolve(jar.getFileName()));
      }
    }
    home = theirs(Files.createDirectory(place.resolve("home")));
  }

  private static Path theirs(Path path) throws IOException {
    Files.setAttribute(path, "unix:uid", USER);
    Files.setAttribute(path, "unix:gid", USER);
    return path;
  }

  private Run ebb(String... words) throws IOException, InterruptedException {
    return ebb(List.of(), words);
  }

  /** {@code launcher} runs the rest of its arguments. */
  private Run ebb(List<String> launcher, String... words) throws IOException, InterruptedException {
    var command = new ArrayList<>(launcher);
    command.addAll(
        List.of("setpriv", "--reuid", "" + USER, "--regid", "" + USER, "--clear-groups"));
    command.addAll(List.of(System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC"));
    command.addAll(List.of("--module-path", place.resolve("lib").toString()));
    command.addAll(List.of("--enable-native-access=dev.ebb.kernel"));
    command.addAll(List.of("-m", "dev.ebb.cli/dev.ebb.cli.Main"));
    command.addAll(List.of(words));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().clear();
    builder.environment().put("HOME", home.toString());
    Process process = builder.start();
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Run(process.waitFor(), out);
  }

  @Test
  void aCommandRunsAndNothingIsLeft() throws Exception {
    var run = ebb("run", "-v", "--", "sh", "-c", "setsid sleep 1000 & id -u");
    assertThat(run.out()).startsWith("1000\n").contains("released process 1,", "nothing left");
    assertThat(run.code()).isZero();
    try (var instances = Files.list(home.resolve(".local/state/ebb/instances"))) {
      assertThat(instances).isEmpty();
    }
  }

  @Test
  void aTimeoutEndsATreeThatIgnoresIt() throws Exception {
    var run =
        ebb(
            "run",
            "-v",
            "--timeout",
            "500ms",
            "--grace",
            "200ms",
            "--",
            "sh",
            "-c",
            "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; sleep 1000");
    assertThat(run.code()).isEqualTo(124);
    assertThat(run.out()).contains("nothing left");
  }

  @Test
  void whatIsTheirsCanBeMountedAndWrittenWhatIsNotCanBeRead() throws Exception {
    Path data = theirs(Files.createDirectory(place.resolve("data")));
    var write = ebb("run", "--mount", data + ":/data", "--", "sh", "-c", "echo new > /data/file");
    assertThat(write.code()).as(write.out()).isZero();
    assertThat(data.resolve("file")).hasContent("new\n");
    assertThat(Files.getAttribute(data.resolve("file"), "unix:uid")).isEqualTo(USER);

    Path lib = place.resolve("lib");
    var read = ebb("run", "--mount", lib + ":/data:ro", "--", "ls", "/data");
    assertThat(read.out()).contains("ebb-cli.jar");
    var refused = ebb("run", "--mount", lib + ":/data", "--", "true");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.out()).contains("cannot map the owner of " + lib, "(:ro works)");
  }

  @Test
  void doctorReportsTheUidOfABox() throws Exception {
    var run = ebb("doctor");
    assertThat(run.out())
        .contains("uid " + USER + " without CAP_SETUID: all boxes run as this user")
        .contains("mode none")
        .contains("a box ran in");
    assertThat(run.code()).isZero();
  }

  /** Delegates a cgroup as systemd does: the user owns the directory and three of its files. */
  @Test
  void aDelegatedSubtreeIsUsedAndGivenBackEmpty() throws Exception {
    TestHost.require(Feature.PURE_V2);
    Path root = Path.of("/sys/fs/cgroup");
    Files.writeString(root.resolve("cgroup.subtree_control"), "+cpu +memory +pids");
    Path ours =
        theirs(
            Files.createDirectory(root.resolve("ebb-delegated-" + ProcessHandle.current().pid())));
    try {
      for (String file : List.of("cgroup.procs", "cgroup.threads", "cgroup.subtree_control")) {
        theirs(ours.resolve(file));
      }
      var inside = List.of("sh", "-c", "echo 0 > " + ours + "/cgroup.procs && exec \"$@\"", "sh");
      var doctor = ebb(inside, "doctor");
      assertThat(doctor.out()).contains("mode v2").contains("a box ran in");
      var run =
          ebb(
              inside,
              "run",
              "-v",
              "--pids",
              "20",
              "--",
              "sh",
              "-c",
              "setsid sleep 1000 & echo ran");
      assertThat(run.out()).startsWith("ran\n").contains("released process 1,", "nothing left");
      var crowd = "i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done";
      assertThat(ebb(inside, "run", "--pids", "20", "--", "sh", "-c", crowd).out())
          .contains("fork");
      try (var children = Files.list(ours)) {
        assertThat(children.filter(Files::isDirectory)).isEmpty();
      }
    } finally {
      Files.delete(ours);
    }
  }
}
