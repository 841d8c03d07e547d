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
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with a stalled poller gets SIGTERM. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonStalledEndAcceptanceTest {
  /** The watchdog ended it. */
  private static final int STALLED = 70;

  /** By itself the watchdog would wait for much longer than the test does. */
  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          List::of,
          Map.of("JDK_JAVA_OPTIONS", "-Debb.fault=HEAR_STARTED:hang#2 -Debb.watchdog=2,6000"));

  @Test
  void aTermEndsItThoughNothingMoves() throws Exception {
    EbbClient client = daemon.client();
    Box box = client.boxes().create(BoxRequest.defaults());
    client.execs(box.id()).start(ExecRequest.of("sleep", "1000"));
    Thread.ofVirtual().start(() -> startInVain(client, box));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> Wire.ask(daemon.uri(), "GET", "/healthz", "").status() == 503);
    Process process = daemon.process();
    process.destroy();
    assertThat(process.waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(STALLED);
    daemon.start();
    assertThat(daemon.client().boxes().list(BoxQuery.all()))
        .allMatch(each -> each.state() == BoxState.GONE);
  }

  private static void startInVain(EbbClient client, Box box) {
    try {
      client.execs(box.id()).start(ExecRequest.of("true"));
    } catch (IOException e) {
      // The daemon ends meanwhile.
    }
  }
}
