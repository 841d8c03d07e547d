package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a server grants at most, to an admin too. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonCapsAcceptanceTest {
  @RegisterExtension
  static final DaemonProcess DAEMON =
      new DaemonProcess(
          "--limits-memory=64m", "--limits-pids=500", "--limits-timeout=700ms", "--limits-ttl=1h");

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
}
