package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Lost;
import dev.ebb.client.Offsets;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.SmallDisk;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** When its disk is full, a daemon reports for each command how much output was lost. */
@Tag("kernel")
@LeakChecked
@Timeout(240)
final class DaemonOutputLossAcceptanceTest {
  private static final int KEPT = 4096;
  private static final int MUCH = 30_000;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @Test
  void everyInterfaceReportsLossAndShortOutputIsComplete() throws Exception {
    TestHost.require(Feature.ROOT);
    try (var disk = SmallDisk.mount(16 << 20)) {
      DaemonProcess daemon = DaemonProcess.at(disk.directory());
      try {
        for (boolean isDetached : List.of(false, true)) {
          assertReported(daemon, disk, isDetached);
        }
      } finally {
        disk.free();
        daemon.endAt();
      }
    }
  }

  private static void assertReported(DaemonProcess daemon, SmallDisk disk, boolean isDetached)
      throws Exception {
    EbbClient client = daemon.client();
    BoxRequest request = BoxRequest.defaults();
    String box = client.boxes().create(isDetached ? request.withDetached() : request).id();
    Execs execs = client.execs(box);
    long few = begin(execs, "echo few");
    long much = begin(execs, "head -c " + MUCH + " /dev/zero");
    disk.fill();
    assertThat(finish(execs, few).status()).isEqualTo("exited");
    try (var output = execs.output(few, OutputStreamName.STDOUT, 0)) {
      assertThat(new String(output.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("few\n");
    }
    Exec lost = finish(execs, much);
    assertLost(lost);
    assertThat(lost.stdoutBytes()).isEqualTo(KEPT);
    assertThat(lost.truncated()).isFalse();
    Followed followed = Followed.all(execs.follow(much, Offsets.START));
    assertThat(followed.stdout()).isEqualTo(new byte[KEPT]);
    assertLost(followed.end().orElseThrow().exec());
    var logs = daemon.ebb().call("logs", box, Long.toString(much));
    assertThat(logs.code()).isEqualTo(125);
    assertThat(logs.stderr()).contains("%d bytes of stdout".formatted(MUCH - KEPT), "ENOSPC");
    disk.free();
    client.boxes().remove(box, true);
  }

  private static long begin(Execs execs, String script) throws IOException {
    return execs.start(ExecRequest.of("sh", "-c", "read go; " + script).withStdin()).number();
  }

  private static Exec finish(Execs execs, long number) throws IOException {
    execs.feedAll(number, new ByteArrayInputStream(new byte[] {'\n'}));
    await().atMost(DaemonProcess.PATIENCE).until(() -> execs.inspect(number).hasEnded());
    return execs.inspect(number);
  }

  private static void assertLost(Exec exec) {
    assertThat(exec.status()).isEqualTo("output-lost");
    assertThat(exec.exitCode()).isEqualTo(125);
    assertThat(exec.cause()).isNotNull().extracting("kind", "code").contains("output-lost", 0);
    assertThat(exec.lost()).isEqualTo(new Lost(MUCH - KEPT, 0, "ENOSPC"));
  }

  @Test
  void theCommandLineReportsLossToo() throws Exception {
    TestHost.require(Feature.ROOT);
    try (var disk = SmallDisk.mount(2 << 20)) {
      var ebb = new Ebb(disk.directory());
      var run = ebb.call("run", "--", "seq", "1000000");
      assertThat(run.code()).isEqualTo(125);
      assertThat(run.stderr()).contains("output was lost", "bytes of stdout", "ENOSPC");
      var json = ebb.call("run", "--json", "--", "seq", "1000000");
      assertThat(json.code()).isEqualTo(125);
      assertThat(json.text()).contains("\"status\":\"output-lost\"", "\"lost\":{\"stdoutBytes\":");
      assertThat(ebb.call("run", "--", "echo", "few").code()).isZero();
    }
  }
}
