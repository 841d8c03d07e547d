package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A process of the host that was put into a cgroup of a box dies with it, and the daemon reports
 * it.
 */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonForeignProcessAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private final List<Process> foreign = new ArrayList<>();

  @AfterEach
  void end() throws InterruptedException {
    for (Process each : foreign) {
      each.destroyForcibly().waitFor();
    }
  }

  private Process enter(Path cgroup) throws Exception {
    Process process = new ProcessBuilder("sleep", "1000").start();
    foreign.add(process);
    Files.writeString(cgroup.resolve("cgroup.procs"), Long.toString(process.pid()));
    return process;
  }

  /** The cgroup that {@code pid} is in, in the unified hierarchy. */
  private static Path cgroupOf(long pid) throws Exception {
    String path =
        Files.readAllLines(Path.of("/proc/" + pid + "/cgroup")).stream()
            .filter(line -> line.startsWith("0::"))
            .map(line -> line.substring(3))
            .findFirst()
            .orElseThrow();
    Path unified = Path.of("/sys/fs/cgroup/unified");
    return Path.of((Files.exists(unified) ? unified : Path.of("/sys/fs/cgroup")) + path);
  }

  private long counter() throws Exception {
    return daemon.gauge("ebb_strangers_killed_total");
  }

  private long pidOf(String box, boolean isOfACommand) throws Exception {
    return requireNonNull(
        daemon.client().boxes().inspect(box).holdings().stream()
            .filter(held -> held.kind().equals("process") && (held.exec() != null) == isOfACommand)
            .findFirst()
            .orElseThrow()
            .pid());
  }

  @Test
  void itsEndIsReportedAndCounted() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.CGROUPS);
    EbbClient client = daemon.client();
    String id = client.boxes().create(BoxRequest.defaults().withName("box")).id();
    var execs = client.execs("box");
    var exec = execs.start(ExecRequest.of("sh", "-c", "until [ -e go ]; do sleep 0.02; done"));
    assertThat(counter()).isEqualTo(0);

    Process first = enter(cgroupOf(pidOf("box", true)));
    execs.run(ExecRequest.of("touch", "go"));
    assertThat(requireNonNull(execs.await(exec.number()).leftovers()).killed()).isEqualTo(1);
    assertThat(first.waitFor()).isEqualTo(128 + 9);
    assertThat(counter()).isEqualTo(1);

    Process second = enter(cgroupOf(pidOf("box", false)));
    assertThat(client.boxes().remove("box", true).clean()).isTrue();
    assertThat(second.waitFor()).isEqualTo(128 + 9);
    assertThat(counter()).isEqualTo(2);

    daemon.process().toHandle().destroy();
    await().atMost(DaemonProcess.PATIENCE).until(() -> !daemon.process().isAlive());
    String said =
        new String(daemon.process().getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(said)
        .contains("event=stranger_killed box=" + id + " exec=" + exec.number())
        .contains("event=stranger_killed box=" + id + " pids=[" + second.pid() + "]");
  }

  @Test
  void itsEndIsReportedAndCountedByTheNextDaemon() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.CGROUPS);
    daemon.client().boxes().create(BoxRequest.defaults().withName("box"));
    Process stranger = enter(cgroupOf(pidOf("box", false)));
    daemon.kill();
    daemon.start();
    assertThat(stranger.waitFor()).isEqualTo(128 + 9);
    assertThat(counter()).isEqualTo(1);
  }

  @Test
  void itsEndIsReportedAndCountedIfTheInitOfItsBoxIsDead() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.CGROUPS);
    daemon.client().boxes().create(BoxRequest.defaults().withName("box").withDetached());
    long init = pidOf("box", false);
    Process stranger = enter(cgroupOf(init));
    daemon.kill();
    assertThat(ProcessHandle.of(init).orElseThrow().destroyForcibly()).isTrue();
    daemon.start();
    assertThat(daemon.client().boxes().remove("box", true).clean()).isTrue();
    assertThat(stranger.waitFor()).isEqualTo(128 + 9);
    assertThat(counter()).isEqualTo(1);
  }

  @Test
  void itIsAmongWhatASweepHasFound() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.CGROUPS);
    daemon.client().boxes().create(BoxRequest.defaults().withName("box"));
    Process stranger = enter(cgroupOf(pidOf("box", false)));
    daemon.kill();
    assertThat(daemon.ebb().call("sweep").text()).contains(stranger.pid() + "@");
    assertThat(stranger.waitFor()).isEqualTo(128 + 9);
    daemon.start();
  }
}
