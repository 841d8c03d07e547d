package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Mount;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.FrozenDisk;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that is to go down while a process sleeps in the kernel, where no signal ends it. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonStuckDrainAcceptanceTest {
  /** The grace of commands is 5 s; a process that is stuck must not double it. */
  private static final Duration BOUND = TestHost.patience(Duration.ofSeconds(12));

  private static final String WRITER = "until [ -e go ]; do sleep 0.01; done; echo > /data/x";

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--sweep-interval=1s");

  private FrozenDisk disk;

  @BeforeEach
  void mount() throws Exception {
    TestHost.require(Feature.ROOT);
    TestHost.require(Feature.LOOP_DEVICES);
    disk = FrozenDisk.mount();
  }

  @AfterEach
  void unmount() throws Exception {
    disk.unmount();
  }

  @Test
  void itEndsInTimeAndTheNextOneFinishesTheRelease() throws Exception {
    EbbClient client = daemon.client();
    Path data = disk.path();
    String stuck =
        client
            .boxes()
            .create(
                BoxRequest.defaults()
                    .withName("stuck")
                    .withMount(new Mount(data.toString(), "/data", false)))
            .id();
    String other = client.boxes().create(BoxRequest.defaults().withName("other")).id();
    client.execs("stuck").start(ExecRequest.of("sh", "-c", WRITER));
    disk.freeze();
    client.execs("stuck").run(ExecRequest.of("touch", "go"));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () ->
                client.boxes().inspect("stuck").holdings().stream()
                    .anyMatch(held -> "D".equals(held.state())));

    long begun = System.nanoTime();
    // Not through Process, which would close its output.
    assertThat(daemon.process().toHandle().destroy()).isTrue();
    assertThat(daemon.process().waitFor(BOUND.toMillis(), TimeUnit.MILLISECONDS))
        .as("ended in time")
        .isTrue();
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(BOUND);
    String said =
        new String(daemon.process().getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(said)
        .contains("event=box_left_for_the_next_daemon box=" + stuck)
        .contains("outlived SIGKILL, state D")
        .doesNotContain("event=box_left_for_the_next_daemon box=" + other);
    assertThat(daemon.ebb().call("why", stuck).text()).contains("sleeps in the kernel");

    daemon.start();
    assertThat(daemon.ebb().call("why", stuck).text()).contains("sleeps in the kernel");
    disk.thaw();
    await().atMost(DaemonProcess.PATIENCE).until(() -> daemon.ebb().call("why", stuck).code() != 0);
  }
}
