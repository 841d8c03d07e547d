package dev.ebb.backend.bubblewrap;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.backend.SandboxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

class BwrapCommandLineTest {
  private static final int FIRST_FD = 20;
  private static final SandboxSpec PLAIN =
      new SandboxSpec(
          Network.NONE,
          true,
          List.of(),
          List.of(),
          List.of(),
          ByteSize.mebibytes(256),
          ByteSize.mebibytes(64));
  private static final SandboxSpec RICH =
      new SandboxSpec(
          Network.HOST,
          false,
          List.of(
              new Mount(Path.of("/srv/data"), "/data", true),
              new Mount(Path.of("/srv/out"), "/out", false)),
          List.of(Path.of("/opt/a"), Path.of("/opt/b")),
          List.of(new CopiedFile(Path.of("/srv/main.py"), "/workspace/main.py")),
          ByteSize.mebibytes(1),
          ByteSize.mebibytes(2));

  private static List<String> line(SandboxSpec spec) {
    return BwrapCommandLine.of(spec, FIRST_FD);
  }

  /** Where {@code words} follow each other. */
  private static int index(List<String> line, String... words) {
    int at = Collections.indexOfSubList(line, Arrays.asList(words));
    assertThat(at).as("%s in %s", List.of(words), line).isNotNegative();
    return at;
  }

  @Test
  void everyNamespaceIsItsOwn() {
    assertThat(line(PLAIN))
        .contains(
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-net",
            "--unshare-cgroup");
  }

  @Test
  void theHostsNetworkAndCgroupNamespaceAreKeptOnRequestOnly() {
    assertThat(line(RICH)).doesNotContain("--unshare-net", "--unshare-cgroup");
    index(line(RICH), "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    assertThat(line(PLAIN)).doesNotContain("/etc/resolv.conf");
  }

  @Test
  void noFurtherUserNamespaceAndNothingOfOurEnvironment() {
    assertThat(line(PLAIN)).contains("--disable-userns", "--as-pid-1", "--clearenv");
    index(line(PLAIN), "--uid", "1000", "--gid", "1000");
  }

  @Test
  void whateverCanBeWrittenHasASize() {
    var line = line(PLAIN);
    index(line, "--size", "268435456", "--perms", "0755", "--tmpfs", "/workspace");
    index(line, "--size", "67108864", "--perms", "1777", "--tmpfs", "/tmp");
    index(line, "--size", "67108864", "--perms", "1777", "--tmpfs", "/dev/shm");
    for (int i = 0; i < line.size(); i++) {
      if (line.get(i).equals("--tmpfs")) {
        assertThat(line.get(i - 4)).as(line.get(i + 1)).isEqualTo("--size");
      }
    }
  }

  @Test
  void rootAndDevicesAreClosedAfterTheirLastMount() {
    var line = line(RICH);
    int dev = index(line, "--remount-ro", "/dev");
    assertThat(dev).isGreaterThan(index(line, "--tmpfs", "/dev/shm"));
    int root = index(line, "--remount-ro", "/");
    assertThat(line.subList(root, line.size()))
        .containsExactly("--remount-ro", "/", "--chdir", "/");
  }

  @Test
  void theSystemIsReadOnlyAndEtcHasNoSecretOfTheHost() {
    var line = line(RICH);
    index(line, "--ro-bind", "/usr", "/usr");
    index(line, "--ro-bind", "/proc/sys", "/proc/sys");
    assertThat(index(line, "--ro-bind", "/proc/sys", "/proc/sys"))
        .isGreaterThan(index(line, "--proc", "/proc"));
    assertThat(line)
        .doesNotContain("/etc", "/etc/shadow", "/root", "/home", "/var/lib", "/run/docker.sock");
    for (int i = 0; i < line.size(); i++) {
      if (line.get(i).equals("--bind")) {
        assertThat(line.get(i + 2)).as("the one writable mount").isEqualTo("/out");
      }
    }
  }

  @Test
  void mountsComeFromWhereTheyAreStagedPackagesFirst() {
    var line = line(RICH);
    int packages = index(line, "--ro-bind", "/tmp/0", "/packages/0");
    index(line, "--ro-bind", "/tmp/1", "/packages/1");
    int data = index(line, "--ro-bind", "/tmp/2", "/data");
    index(line, "--bind", "/tmp/3", "/out");
    assertThat(data).isGreaterThan(packages);
    assertThat(packages).isGreaterThan(index(line, "--tmpfs", "/tmp"));
    assertThat(String.join(" ", line)).doesNotContain("/srv/").doesNotContain("/opt/");
  }

  @Test
  void madeFilesAndCopiesAreReadFromTheirDescriptorsInOrder() {
    var line = line(RICH);
    int number = FIRST_FD;
    for (var made : BwrapCommandLine.MADE) {
      index(line, "--perms", "0444", "--file", Integer.toString(number++), made.path());
    }
    int copied =
        index(line, "--perms", "0644", "--file", Integer.toString(number), "/workspace/main.py");
    assertThat(copied).isGreaterThan(index(line, "--tmpfs", "/workspace"));
  }

  @Test
  void generatedFilesFitIntoAPipeAndNameNoUserOfTheHost() {
    for (var made : BwrapCommandLine.MADE) {
      assertThat(made.content()).hasSizeLessThan(4096).endsWith("\n");
    }
    assertThat(BwrapCommandLine.MADE.getFirst().content().lines())
        .extracting(entry -> entry.split(":")[0])
        .containsExactly("root", "box", "nobody");
  }

  /** The visible pair: this host's bwrap knows every option. */
  @Test
  void everyOptionIsInTheHelpOfBwrap() throws Exception {
    Path program = Path.of("/usr/bin/bwrap");
    Assumptions.assumeTrue(Files.isExecutable(program), "host lacks bubblewrap");
    var process = new ProcessBuilder(program.toString(), "--help").start();
    Set<String> known;
    try (var help = process.inputReader()) {
      known =
          help.lines()
              .map(String::strip)
              .filter(line -> line.startsWith("--"))
              .map(line -> line.split(" ")[0])
              .collect(Collectors.toSet());
    }
    assertThat(process.waitFor()).isZero();
    var used = new ArrayList<>(line(PLAIN));
    used.addAll(line(RICH));
    used.removeIf(word -> !word.startsWith("--"));
    assertThat(known).containsAll(used);
  }
}
