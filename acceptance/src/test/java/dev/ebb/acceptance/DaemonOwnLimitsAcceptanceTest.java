package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A limit on the daemon's cgroup also holds for its boxes, even if the controller is of version 1.
 */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonOwnLimitsAcceptanceTest {
  private static final int MAX = 200;
  private static final int SLEEPERS = 60;
  private static final String MANY =
      "for i in $(seq " + SLEEPERS + "); do sleep 1000 & done; echo begun; exec sleep 1000";

  @RegisterExtension
  @Order(1)
  final PidsCgroup pids = new PidsCgroup(MAX);

  /** Whether the next daemon is started in that cgroup. */
  private volatile boolean isBound = true;

  @RegisterExtension
  @Order(2)
  final DaemonProcess daemon =
      new DaemonProcess(() -> isBound ? pids.filler() : List.of(), Map.of());

  /** Returns the number of processes that the daemon reports. */
  private long used(EbbClient client) throws Exception {
    for (var gauge : client.pressure().gauges()) {
      if (gauge.resource().equals("pids")) {
        assertThat(gauge.source()).isEqualTo(pids.path().resolve("pids.max").toString());
        return gauge.use();
      }
    }
    throw new AssertionError("no gauge of pids");
  }

  @Test
  void boxesCountAndTheNextDaemonFindsThemFromAnotherCgroup() throws Exception {
    TestHost.require(Feature.CGROUPS);
    EbbClient client = daemon.client();
    client
        .boxes()
        .create(
            BoxRequest.defaults()
                .withName("many")
                .withDetached()
                .withLimits(new Limits(256L << 20, MAX, null, null)));
    client.execs("many").start(ExecRequest.of("sh", "-c", MANY));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs("many").inspect(1).stdoutBytes() > 0);
    assertThat(pids.current()).isGreaterThan(SLEEPERS);
    await().atMost(DaemonProcess.PATIENCE).until(() -> used(client) > SLEEPERS);

    daemon.kill();
    isBound = false;
    daemon.start();
    EbbClient next = daemon.client();
    assertThat(next.boxes().inspect("many").state()).isEqualTo(BoxState.RUNNING);
    assertThat(pids.current()).isGreaterThan(SLEEPERS);
    assertThat(next.sweep(false).findings()).isEmpty();
    next.boxes().create(BoxRequest.defaults().withName("free"));
    assertThat(next.execs("free").run(ExecRequest.of("true")).exec().exitCode()).isZero();
    assertThat(next.boxes().remove("many", true).clean()).isTrue();
    // The supervisor of the first daemon ends with the last of its boxes; pid 1 reaps it.
    await().atMost(DaemonProcess.PATIENCE).until(() -> pids.members().isEmpty());
    next.boxes().remove("free", true);
    assertThat(daemon.stop()).isZero();
    try (var left = Files.list(pids.path())) {
      assertThat(left.filter(Files::isDirectory)).isEmpty();
    }
  }
}
