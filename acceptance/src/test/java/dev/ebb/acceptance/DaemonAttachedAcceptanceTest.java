package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Following;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Offsets;
import dev.ebb.testkit.LeakChecked;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients attached to a command: what ends with them, and what waits for them. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class DaemonAttachedAcceptanceTest {
  private static final int MUCH = 8_000_000;

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;

  @BeforeEach
  void connect() throws IOException {
    client = DAEMON.client();
  }

  @AfterEach
  void hangUp() {
    client.close();
  }

  private boolean isGone(String box) throws IOException {
    try {
      return client.boxes().inspect(box).state().isOver();
    } catch (NotFoundException e) {
      return true;
    }
  }

  private boolean isForgotten() throws IOException {
    return client.boxes().list(BoxQuery.all()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aRunOnATerminalEndsWithItsKilledClient(boolean ownBox) throws Exception {
    if (!ownBox) {
      client.boxes().create(BoxRequest.defaults().withName("theirs"));
    }
    Process attached =
        ownBox
            ? DAEMON.ebb().start("run", "-t", "--name", "theirs", "--", "sleep", "1000")
            : DAEMON.ebb().start("exec", "-t", "theirs", "sleep", "1000");
    await().atMost(DaemonProcess.PATIENCE).until(() -> isRunning("theirs"));

    attached.destroyForcibly().waitFor();

    if (ownBox) {
      await().atMost(DaemonProcess.PATIENCE).until(this::isForgotten);
    } else {
      await().atMost(DaemonProcess.PATIENCE).until(() -> !isRunning("theirs"));
      client.boxes().remove("theirs", true);
    }
  }

  private boolean isRunning(String box) throws IOException {
    try {
      return client.boxes().inspect(box).runningExecs() == 1;
    } catch (NotFoundException e) {
      return false;
    }
  }

  @Test
  void aShortRunOnATerminalIsShownWhole() throws Exception {
    for (int i = 0; i < 3; i++) {
      var run = DAEMON.ebb().call("run", "-t", "--", "sh", "-c", "stty size; exit 3");
      assertThat(run.text()).isEqualTo("24 80\r\n");
      assertThat(run.stderr()).isEmpty();
      assertThat(run.code()).isEqualTo(3);
    }
    assertThat(isForgotten()).isTrue();
  }

  @Test
  void aFollowerOfABoxThatEndsWithItsCommandMissesNothing() throws Exception {
    String zeros = "until [ -e followed ]; do sleep 0.05; done; head -c " + MUCH + " /dev/zero";
    Exec exec = client.start(BoxRequest.defaults(), ExecRequest.of("sh", "-c", zeros));
    var shown = new ByteArrayOutputStream();
    try (Following slow = client.execs(exec.box()).follow(exec.number(), Offsets.START)) {
      client.files(exec.box()).write("/workspace/followed", new byte[0]);
      await().atMost(DaemonProcess.PATIENCE).until(() -> isGone(exec.box()));
      shown.write(Followed.all(slow).stdout());
    }
    assertThat(shown.size()).isEqualTo(MUCH);
    await().atMost(DaemonProcess.PATIENCE).until(this::isForgotten);
  }

  @Test
  void aWriterThatSendsNothingReceivesTheEndOfItsCommand() throws Exception {
    client.boxes().create(BoxRequest.defaults().withName("deaf"));
    Exec cat = client.execs("deaf").start(ExecRequest.of("cat").withStdin());
    String head =
        "POST /v1/boxes/deaf/execs/1/stdin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Transfer-Encoding: chunked\r\nAuthorization: Bearer "
            + DAEMON.key("--admin")
            + "\r\n\r\n";
    try (Wire wire = Wire.to(DAEMON.uri())) {
      wire.write(head + "1\r\nx\r\n");
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> client.execs("deaf").inspect(cat.number()).stdoutBytes() == 1);
      client.execs("deaf").signal(cat.number(), "INT");
      var answer = wire.answer();
      assertThat(answer.status()).isEqualTo(409);
      assertThat(answer.body()).contains("reads no input, or no longer");
    }
    client.boxes().remove("deaf", true);
  }
}
