package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Foreign resources that look like Ebb's: no cleanup of Ebb touches them. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonStrangerAcceptanceTest {
  private static final String NAME = "ebb-deadbeef";
  private static final String FORGED = "ebb-00000001";
  private static final String BOX = "b0123456789ab";

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private final List<Process> processes = new ArrayList<>();
  private final List<Path> cgroups = new ArrayList<>();
  private final List<Path> files = new ArrayList<>();

  /** Ours to remove, in the order they were made. */
  private final List<Path> made = new ArrayList<>();

  @AfterEach
  void endStrangers() throws Exception {
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
    for (Path path : made.reversed()) {
      // A process that died too early fails the test, and must not keep the others alive.
      if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
        delete(path);
      }
    }
  }

  private static void delete(Path path) throws IOException {
    // Files of a cgroup cannot be removed, and need not be.
    boolean isCgroup = Files.exists(path.resolve("cgroup.procs"));
    try (Stream<Path> all = Files.walk(path)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        if (!isCgroup || Files.isDirectory(each)) {
          Files.delete(each);
        }
      }
    }
  }

  @Test
  void theyOutliveRecoveryAndSweepAndTheRemovalOfABox() throws Exception {
    EbbClient client = daemon.client();
    for (String name : List.of("bystander", "victim")) {
      client.boxes().create(BoxRequest.defaults().withName(name).withDetached());
      client.execs(name).start(ExecRequest.of("sleep", "1000"));
    }
    HostBox bystander = HostBox.look(client, "bystander");
    HostBox victim = HostBox.look(client, "victim");
    Process lookAlike = sleepAs("ebb-init");
    liveInCgroups(sleepAs("bwrap"), bystander, victim.id());
    Path foreign = makeForeignDirectory();
    link(foreign);
    Path forged = forge(lookAlike, bystander, foreign);
    assertUntouched(bystander);

    var sweep = daemon.ebb().call("sweep");
    assertThat(sweep.code()).as(sweep.stderr()).isZero();
    assertThat(forged).as("it was read").doesNotExist();
    assertUntouched(bystander);

    assertThat(client.boxes().remove("victim", true).clean()).isTrue();
    victim.assertIsGone();
    assertUntouched(bystander);

    forge(lookAlike, bystander, foreign);
    daemon.kill();
    daemon.start();
    assertThat(forged).as("it was read").doesNotExist();
    assertUntouched(bystander);
    assertThat(daemon.client().boxes().inspect("bystander").state()).isEqualTo(BoxState.RUNNING);
    assertThat(daemon.client().boxes().remove("bystander", true).clean()).isTrue();
  }

  private void assertUntouched(HostBox bystander) {
    bystander.assertIsThere();
    assertThat(processes).allMatch(Process::isAlive);
    assertThat(cgroups).allMatch(Files::exists);
    assertThat(files).allMatch(Files::exists);
  }

  /** A foreign process with this name. */
  private Process sleepAs(String name) throws IOException {
    Process process = new ProcessBuilder("bash", "-c", "exec -a " + name + " sleep 1000").start();
    processes.add(process);
    return process;
  }

  /** In each hierarchy that Ebb uses, by a name like an instance's; its box is called like ours. */
  private void liveInCgroups(Process process, HostBox ours, String box) throws IOException {
    for (Path cgroup : ours.cgroups()) {
      Path root = Objects.requireNonNull(cgroup.getParent()).resolveSibling(NAME);
      made.add(Files.createDirectory(root));
      Path inner = Files.createDirectory(root.resolve(box));
      cgroups.addAll(List.of(root, inner));
      Files.writeString(inner.resolve("cgroup.procs"), Long.toString(process.pid()));
    }
  }

  private Path makeForeignDirectory() throws IOException {
    Path foreign = Files.createTempDirectory("foreign");
    made.add(foreign);
    for (String name : List.of("ledger", "instance", "lock", "record", "1.stdout")) {
      files.add(Files.createFile(foreign.resolve(name)));
    }
    return foreign;
  }

  /** Among the instances, and looks like one. */
  private void link(Path foreign) throws IOException {
    Path link = daemon.home().resolve("instances").resolve("ebb-00000002");
    made.add(Files.createSymbolicLink(link, foreign));
    files.add(link);
  }

  /** A dead instance with a ledger that claims resources of others. */
  private Path forge(Process process, HostBox other, Path foreign) throws IOException {
    Path forged = Files.createDirectory(daemon.home().resolve("instances").resolve(FORGED));
    String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    Files.writeString(
        forged.resolve("instance"), "boot=%s%nuids=99%nprocess=1@1%nkind=guest%n".formatted(boot));
    var claims = new ArrayList<String>();
    cgroups.forEach(path -> claims.add(" CGROUP " + path));
    cgroups.forEach(path -> claims.add(BOX + " CGROUP " + path));
    other.cgroups().forEach(path -> claims.add(other.id() + " CGROUP " + path));
    other.cgroups().forEach(path -> claims.add(" CGROUP " + path.getParent()));
    claims.add(BOX + " PROCESS " + process.pid() + "@" + (startTime(process.pid()) - 1));
    claims.add(BOX + " DIRECTORY " + foreign);
    Files.writeString(forged.resolve("ledger"), ledger(claims));
    return forged;
  }

  private static String ledger(List<String> claims) {
    var text = new StringBuilder();
    for (int i = 0; i < claims.size(); i++) {
      String claim = claims.get(i);
      int subject = claim.lastIndexOf(' ') + 1;
      String escaped = URLEncoder.encode(claim.substring(subject), StandardCharsets.UTF_8);
      text.append(StateFile.seal("+ " + (i + 1) + " " + claim.substring(0, subject) + escaped));
    }
    return text.toString();
  }

  /** KERNEL: proc(5), stat, field 22. */
  private static long startTime(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19]);
  }
}
