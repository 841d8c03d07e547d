package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.CellRequest;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The caps of a server, which also bind an admin. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonCapsAcceptanceTest {
  @RegisterExtension
  static final DaemonProcess DAEMON =
      new DaemonProcess(
          "--limits-memory=64m", "--limits-pids=500", "--limits-timeout=700ms", "--limits-ttl=1h");

  /** A daemon without caps in its settings. */
  @RegisterExtension static final DaemonProcess OTHER = new DaemonProcess();

  private static void assertAbove(String words, ThrowingCallable call) {
    assertThatExceptionOfType(EbbException.class)
        .isThrownBy(call)
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo("forbidden");
              assertThat(e.detail()).isEqualTo(words);
            });
  }

  @Test
  void whatIsAboveIsRefusedAndWhatIsNotSaidIsBelow() throws Exception {
    try (EbbClient client = DAEMON.client()) {
      assertCapped(client);
    }
    var said = DAEMON.ebb().call("create", "--pids", "501");
    assertThat(said.code()).isEqualTo(125);
    assertThat(said.stderr()).contains("\"limits.pids\" is 501").contains("500 at most");
  }

  private static void assertCapped(EbbClient client) throws IOException {
    var large = BoxRequest.defaults().withLimits(new Limits(64L << 20 | 1, null, null, null));
    assertAbove(
        "\"limits.memoryBytes\" is 67108865, but this server allows 67108864 at most",
        () -> client.boxes().create(large));
    assertAbove(
        "\"box.limits.memoryBytes\" is 67108865, but this server allows 67108864 at most",
        () -> client.run(large, ExecRequest.of("true")));
    assertAbove(
        "\"ttlMillis\" is 3600001, but this server allows 3600000 at most",
        () -> client.boxes().create(BoxRequest.defaults().withTtl(Duration.ofMillis(3600001))));

    var box = client.boxes().create(BoxRequest.defaults().withName("capped"));
    assertThat(box.document().object("limits").number("memoryBytes")).isEqualTo(64L << 20);
    assertThat(box.document().object("limits").number("pids")).isEqualTo(128);
    assertThat(box.document().number("ttlMillis")).isEqualTo(3600000);
    var execs = client.execs("capped");
    assertAbove(
        "\"timeoutMillis\" is 0, none, but this server allows 700 at most",
        () -> execs.run(ExecRequest.of("true").withTimeout(Duration.ZERO)));
    assertAbove(
        "\"graceMillis\" is 701, but this server allows 700 at most",
        () -> execs.run(ExecRequest.of("true").withGrace(Duration.ofMillis(701))));
    assertThat(execs.run(ExecRequest.of("sleep", "60")).exec().status()).isEqualTo("timed-out");
    client.boxes().remove("capped", true);
  }

  /** A request for an hour of grace gets no more than the longest timeout. */
  @Test
  void noGraceIsLongerThanTheLongestTimeout() throws Exception {
    Duration hour = Duration.ofHours(1);
    try (EbbClient client = DAEMON.client()) {
      client.boxes().create(BoxRequest.defaults().withName("slow"));
      assertEnds(client, number -> client.execs("slow").beginKill(number, hour));
      assertEnds(client, number -> client.boxes().beginKillAll("slow", hour));
      assertEnds(client, number -> killByMcp(client, number));
      assertEnds(client, number -> client.boxes().beginStop("slow", hour));
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> client.boxes().inspect("slow").state() == BoxState.GONE);
      client.boxes().remove("slow", false);
    }
  }

  private interface Ending {
    void of(long number) throws IOException, InterruptedException;
  }

  /** An interpreter has no time of its own to end in, and SIGTERM is lost on this one. */
  private static void assertEnds(EbbClient client, Ending ending) throws Exception {
    String name = client.contexts("slow").create(ContextRequest.of("python")).id();
    client
        .contexts("slow")
        .run(name, CellRequest.of("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"));
    var execs = client.execs("slow");
    long number = execs.list().getLast().number();
    ending.of(number);
    await().atMost(DaemonProcess.PATIENCE).until(() -> execs.inspect(number).hasEnded());
  }

  private static void killByMcp(EbbClient client, long number)
      throws IOException, InterruptedException {
    var wire = new McpWire(DAEMON.uri(), DAEMON.key());
    String session = wire.begin();
    var answer =
        wire.post(
            session,
            """
            {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"kill_process",\
            "arguments":{"box":"%s","process":%d,"graceMillis":60000,"wait":false}}}"""
                .formatted(client.boxes().inspect("slow").id(), number));
    assertThat(answer.body()).contains("\"isError\":false");
    wire.end(session);
  }

  @Test
  void whereNothingIsSaidABoxIsNoLargerThanTheHost() throws Exception {
    long cores = Runtime.getRuntime().availableProcessors();
    try (EbbClient client = OTHER.client()) {
      for (Limits limits :
          List.of(
              new Limits(1L << 50, null, null, null),
              new Limits(null, 4_000_000, null, null),
              new Limits(null, null, 16.0 * cores, null),
              new Limits(null, null, null, 1L << 50))) {
        assertThatExceptionOfType(EbbException.class)
            .isThrownBy(() -> client.boxes().create(BoxRequest.defaults().withLimits(limits)))
            .satisfies(e -> assertThat(e.status()).as(e.detail()).isEqualTo(403))
            .satisfies(e -> assertThat(e.detail()).contains("but this server allows"));
      }
    }
    assertThat(OTHER.ebb().call("config").text()).containsPattern("limits.memory .*this host");
  }
}
