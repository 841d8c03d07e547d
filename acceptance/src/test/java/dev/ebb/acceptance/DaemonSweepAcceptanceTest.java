package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Resources without a record that a daemon finds, by itself and on request. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonSweepAcceptanceTest {
  private static final String NOBODY = "bffffffffffff";

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--sweep-interval", "1h");

  @RegisterExtension final DaemonProcess often = new DaemonProcess("--sweep-interval", "200ms");

  private EbbClient client;

  @BeforeEach
  void makeABox() throws Exception {
    client = daemon.client();
    client.boxes().create(BoxRequest.defaults().withName("mine"));
    client.execs("mine").start(ExecRequest.of("sleep", "1000"));
  }

  /** A directory beside those of the daemon's boxes. */
  private static Path plant(Path home) throws IOException {
    try (var instances = Files.list(home.resolve("instances"))) {
      Path planted = instances.findFirst().orElseThrow().resolve(NOBODY);
      Path seed = Files.createDirectory(home.resolve("seed"));
      Files.writeString(seed.resolve("1.stdout"), "x");
      // RACE: a sweep may come at any moment, and is to find it whole.
      return Files.move(seed, planted);
    }
  }

  @Test
  void theCommandAsksTheDaemon() throws Exception {
    assertThat(daemon.ebb().call("sweep").text()).isEqualTo("nothing left by dead runtimes\n");
    Path planted = plant(daemon.home());

    var plan = daemon.ebb().call("sweep", "--dry-run", "--json");
    assertThat(plan.text()).contains("\"would release\"", planted.toString());
    assertThat(planted).exists();

    var swept = daemon.ebb().call("sweep");
    assertThat(swept.text()).startsWith("released ").contains("directory " + planted);
    assertThat(swept.code()).isZero();
    assertThat(planted).doesNotExist();
    assertThat(daemon.ebb().call("sweep").text()).isEqualTo("nothing left by dead runtimes\n");

    var totals = client.sweeps();
    assertThat(totals.numberMap("found")).containsOnlyKeys("directory").containsValue(1L);
    assertThat(totals.number("sweeps")).as("a dry run does not count").isEqualTo(3);
    assertThat(client.execs("mine").inspect(1).hasEnded()).isFalse();
  }

  @Test
  void itSweepsByItselfAndReports() throws Exception {
    EbbClient other = often.client();
    other.boxes().create(BoxRequest.defaults().withName("theirs"));
    try (var events = other.events()) {
      Path planted = plant(often.home());
      await().atMost(DaemonProcess.PATIENCE).until(() -> Files.notExists(planted));
      var event = events.next();
      assertThat(event.kind()).isEqualTo("sweep");
      assertThat(event.document().string("subject")).isEqualTo(planted.toString());
      assertThat(event.document().string("fate")).isEqualTo("released");
    }
    long sweeps = other.sweeps().number("sweeps");
    await().atMost(DaemonProcess.PATIENCE).until(() -> other.sweeps().number("sweeps") > sweeps);
    assertThat(other.boxes().inspect("theirs").document().string("state")).isEqualTo("running");
  }
}
