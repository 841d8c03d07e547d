package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What one types without a daemon, with one: it runs in the daemon, and looks the same. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonRunCliAcceptanceTest extends CliAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  @Override
  Ebb ebb() throws IOException {
    return DAEMON.ebb();
  }

  /** The daemon ends it by itself: there is nothing to sweep. */
  @Override
  @Test
  void theNextCallCleansUpAfterAKilledOne() throws Exception {
    Process process = ebb().start("run", "--", "sh", "-c", "setsid sleep 31415 & echo up; sleep 9");
    assertThat(process.inputReader(UTF_8).readLine()).isEqualTo("up");

    process.destroyForcibly().waitFor();

    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(() -> assertThat(DAEMON.client().boxes().list(BoxQuery.all())).isEmpty());
    assertThat(ProcessHandle.allProcesses().flatMap(p -> p.info().commandLine().stream()))
        .noneMatch(line -> line.endsWith("sleep 31415"));
    assertThat(ebb().call("sweep").text()).isEqualTo("nothing left by dead runtimes\n");
  }
}
