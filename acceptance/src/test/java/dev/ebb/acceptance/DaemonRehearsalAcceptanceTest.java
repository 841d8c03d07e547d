package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The boxes that a daemon runs by itself after its start. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonRehearsalAcceptanceTest {
  private static final String CALLS = "ebb_rehearsal_calls_total";

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(List::of, Map.of("EBB_REHEARSAL", "true"), "--pool-max", "2");

  private double metric(String name) throws Exception {
    return daemon
        .scrape()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  private void awaitCalls(int count) {
    await().atMost(DaemonProcess.PATIENCE).until(() -> metric(CALLS) >= count);
  }

  @Test
  void callersDoNotSeeItsBoxes() throws Exception {
    EbbClient client = daemon.client();
    awaitCalls(30);
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    assertThat(metric("ebb_box_create_seconds_count")).isZero();
    assertThat(metric("ebb_exec_seconds_count")).isZero();
    assertThat(metric("ebb_boxes")).isZero();
    assertThat(metric("ebb_pool_hits")).isZero();
    Path history = daemon.home().resolve("history");
    assertThat(Files.exists(history) ? Files.readString(history) : "").isEmpty();
    assertThat(daemon.home().resolve("own.sock")).doesNotExist();
    client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    assertThat(metric("ebb_box_create_seconds_count")).as("boxes of callers").isEqualTo(1);
  }

  /** The extension sees it end, and finds nothing of it left. */
  @Test
  void aDaemonThatStopsMeanwhileLeavesNothing() {
    awaitCalls(10);
  }
}
