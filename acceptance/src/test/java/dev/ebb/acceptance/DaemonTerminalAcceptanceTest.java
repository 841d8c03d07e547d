package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Output;
import dev.ebb.client.TerminalSession;
import dev.ebb.client.TerminalSize;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Terminals through the daemon. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonTerminalAcceptanceTest {
  /** A hash of three million zero bytes. */
  private static final String ZEROS_SHA_256 =
      "35bce4eae54ec8e6cc2868baa8d157914d6ae2858811b4cc0c078c94460fa26f";

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private Execs execs;

  @BeforeEach
  void makeABox() throws IOException {
    EbbClient client = DAEMON.client();
    execs = client.execs(client.boxes().create(BoxRequest.defaults()).id());
  }

  private Exec start(String script) throws IOException {
    return execs.start(ExecRequest.of("sh", "-c", script).withTerminal(new TerminalSize(24, 80)));
  }

  /** Returns what a session has shown so far. */
  private static final class Screen {
    private final TerminalSession session;
    private final StringBuilder shown = new StringBuilder();

    private Screen(TerminalSession session) {
      this.session = session;
    }

    /** All it has shown once {@code text} is there; the test's timeout is the deadline. */
    String await(String text) throws IOException {
      while (shown.indexOf(text) < 0) {
        Optional<Output> output = session.read();
        if (output.isEmpty()) {
          throw new AssertionError("ended without \"" + text + "\": " + shown);
        }
        shown.append(output.get().text());
      }
      return shown.toString();
    }
  }

  private static void type(TerminalSession session, String keys) throws IOException {
    session.write(keys.getBytes(StandardCharsets.UTF_8));
  }

  private static Exec readToTheEnd(TerminalSession session) throws IOException {
    while (session.read().isPresent()) {
      // No client follows the output.
    }
    return session.ended().orElseThrow();
  }

  @Test
  void aSessionIsResizedInterruptedLeftAndFoundAgain() throws IOException {
    Exec shell =
        start(
            "stty size; read a; stty size; trap 'echo interrupted' INT; echo waiting; sleep 600;"
                + " echo after; read b; exit 7");
    try (TerminalSession session = execs.terminal(shell.number())) {
      var screen = new Screen(session);
      screen.await("24 80");
      session.resize(new TerminalSize(50, 132));
      type(session, "\n");
      screen.await("50 132");
      screen.await("waiting");
    }
    try (TerminalSession session = execs.terminal(shell.number());
        TerminalSession other = execs.terminal(shell.number())) {
      var screen = new Screen(session);
      assertThat(screen.await("waiting")).contains("24 80").contains("50 132");
      type(session, "\u0003");
      screen.await("interrupted");
      screen.await("after");
      new Screen(other).await("after");
      type(other, "bye\n");
      assertThat(readToTheEnd(session).exitCode()).isEqualTo(7);
      assertThat(readToTheEnd(other).status()).isEqualTo("exited");
    }
    try (TerminalSession late = execs.terminal(shell.number())) {
      assertThat(new Screen(late).await("after")).contains("24 80").contains("interrupted");
      assertThat(readToTheEnd(late).exitCode()).isEqualTo(7);
    }
  }

  @Test
  void aLongPasteArrivesWhole() throws IOException {
    Exec exec = start("stty raw -echo; echo ready; head -c 3000000 | sha256sum");
    try (TerminalSession session = execs.terminal(exec.number())) {
      var screen = new Screen(session);
      screen.await("ready");
      session.write(new byte[3_000_000]);
      screen.await(ZEROS_SHA_256 + "  -");
      assertThat(readToTheEnd(session).exitCode()).isZero();
    }
  }

  @Test
  void onlyATerminalIsATerminal() throws IOException {
    Exec plain = execs.start(ExecRequest.of("sleep", "600"));
    assertThatThrownBy(() -> execs.terminal(plain.number()))
        .isInstanceOfSatisfying(
            EbbException.class, e -> assertThat(e.code()).isEqualTo("wrong-state"));
  }
}
