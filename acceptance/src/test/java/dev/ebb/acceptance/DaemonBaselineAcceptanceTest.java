package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon compares its use of resources with its use when it was idle. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonBaselineAcceptanceTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(60));
  private static final String QUIET = "--pressure-quiet=200ms";

  private static JsonObject baseline(EbbClient client) throws IOException {
    return client.pressure().document().object("baseline");
  }

  private static void learnAndWork(EbbClient client) throws IOException {
    for (int i = 0; i < 3; i++) {
      client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    }
    await().atMost(PATIENCE).until(() -> baseline(client).isTrue("learned"));
    for (int i = 0; i < 3; i++) {
      client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    }
  }

  @Nested
  class ADaemonThatLeaks {
    @RegisterExtension
    final DaemonProcess daemon =
        new DaemonProcess(List::of, Map.of("JDK_JAVA_OPTIONS", "-Debb.leak=descriptor"), QUIET);

    @Test
    void raisesTheAlarm() throws Exception {
      EbbClient client = daemon.client();
      learnAndWork(client);
      await().atMost(PATIENCE).until(() -> baseline(client).isTrue("alarm"));
      assertThat(baseline(client).numberMap("excess")).containsEntry("descriptor eventfd", 3L);
    }
  }

  @Nested
  class ADaemonThatDoesNotLeak {
    @RegisterExtension final DaemonProcess daemon = new DaemonProcess(QUIET);

    @Test
    void raisesNoAlarm() throws Exception {
      EbbClient client = daemon.client();
      learnAndWork(client);
      await()
          .during(Duration.ofSeconds(8))
          .atMost(PATIENCE)
          .until(() -> !baseline(client).isTrue("alarm"));
      assertThat(baseline(client).object("excess")).isEqualTo(JsonObject.empty());
    }
  }
}
