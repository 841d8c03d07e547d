package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with a stalled poller, as if the kernel did not let its thread go. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonStallAcceptanceTest {
  /** The watchdog ended it. */
  private static final int STALLED = 70;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess(List::of, stalling("2,6000"));

  private static Map<String, String> stalling(String watchdog) {
    return Map.of("JDK_JAVA_OPTIONS", "-Debb.fault=HEAR_STARTED:hang#2 -Debb.watchdog=" + watchdog);
  }

  /** The second start of a command stalls the daemon. */
  private void stall() throws IOException {
    EbbClient client = daemon.client();
    Box box = client.boxes().create(BoxRequest.defaults());
    assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status()).isEqualTo(200);
    client.execs(box.id()).start(ExecRequest.of("sleep", "1000"));
    Thread.ofVirtual().start(() -> startInVain(client, box));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> Wire.ask(daemon.uri(), "GET", "/healthz", "").status() == 503);
  }

  private static void assertEndsByItsWatchdog(Process process) throws InterruptedException {
    assertThat(process.waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(STALLED);
  }

  /** The attached box died with its daemon. The next one serves, and ends well. */
  private void assertTheNextServes() throws IOException {
    daemon.start();
    assertThat(daemon.client().boxes().list(BoxQuery.all()))
        .allMatch(each -> each.state() == BoxState.GONE);
  }

  @Test
  void healthNamesTheThreadAndTheDaemonEndsWithADump() throws Exception {
    daemon.stop();
    daemon.start(stalling("2,6"));
    stall();
    String body = Wire.ask(daemon.uri(), "GET", "/healthz", "").body();
    assertThat(body).contains("thread ebb-poller does not turn").contains("Fault.hang");
    assertThat(Wire.ask(daemon.uri(), "GET", "/readyz", "").status()).isEqualTo(500);
    Process process = daemon.process();
    assertEndsByItsWatchdog(process);
    String log = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(log).contains("event=stalled_daemon_ends").contains("all platform threads:");
    assertTheNextServes();
  }

  /** By itself the watchdog would wait for much longer than the test does. */
  @Test
  void aTermEndsItThoughNothingMoves() throws Exception {
    stall();
    Process process = daemon.process();
    process.destroy();
    assertEndsByItsWatchdog(process);
    assertTheNextServes();
  }

  private static void startInVain(EbbClient client, Box box) {
    try {
      client.execs(box.id()).start(ExecRequest.of("true"));
    } catch (IOException e) {
      // The daemon ends meanwhile.
    }
  }
}
