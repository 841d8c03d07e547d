package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with a full pipe without a reader as its stderr. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonUnreadLogAcceptanceTest {
  /** KERNEL: a pipe holds 64 KiB, see pipe(7). */
  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          () -> List.of("sh", "-c", "head -c 65536 /dev/zero >&2; exec \"$@\"", "sh"), Map.of());

  @Test
  void anUnreadLogDelaysNoCaller() throws Exception {
    // The daemon has logged by now that it serves.
    EbbClient client = daemon.client();
    assertThat(client.run(BoxRequest.defaults(), ExecRequest.of("echo", "1")).stdout().text())
        .isEqualTo("1\n");
    client.sweep(false);
    assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status()).isEqualTo(200);
    // The extension ends the daemon by SIGTERM, and expects it to exit with 0.
  }
}
