package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.model.ExitCause.Signalled;
import dev.ebb.model.ExitCause.TimedOut;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Commands in a terminal, and signals. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class TerminalKernelTest {
  private static final String WATCHER =
      """
      import os, signal, time
      signal.signal(signal.SIGWINCH, lambda *_: os.system("stty size"))
      os.system("stty size")
      while True:
          time.sleep(0.1)  # nothing is heard that comes right before a sleep
      """;

  private static final String LISTENERS =
      """
      import os, signal, time
      signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"heard\\n"))
      for _ in range(2):
          if os.fork() == 0:
              os.setsid()
              break
      os.write(1, b"ready\\n")
      while True:
          time.sleep(0.1)
      """;

  @RegisterExtension final Workbench bench = new Workbench();

  private static void type(Exec exec, String text) throws InterruptedException {
    byte[] bytes = text.getBytes(UTF_8);
    assertThat(exec.stdin().orElseThrow().write(bytes, 0, bytes.length)).isTrue();
  }

  @Test
  void aShellInATerminalIsTalkedTo() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec shell = bench.start(box, ExecSpec.of("bash", "--norc", "-i").withTerminal(24, 80));
    awaitOutput(shell, "$ ");
    type(shell, "tty; echo $TERM; exit 5\n");
    assertThat(Workbench.await(shell).cause()).isEqualTo(new Exited(5));
    assertThat(text(shell.stdout())).contains("/dev/pts/0\r\n", "xterm-256color\r\n");
    assertThat(shell.stderr().size()).isZero();
    bench.assertUsable(box);
  }

  @Test
  void theSizeOfATerminalFollows() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), python(WATCHER).withTerminal(33, 111));
    awaitOutput(exec, "33 111\r\n");
    exec.resize(44, 122);
    awaitOutput(exec, "44 122\r\n");
    assertRefused(ErrorCode.BAD_REQUEST, () -> exec.resize(0, 1));
    exec.kill(Duration.ZERO);
    assertThat(Workbench.await(exec).cause()).isInstanceOf(Killed.class);
    exec.resize(1, 1);
  }

  @Test
  void controlCInterruptsAndTheEndOfInputIsTyped() throws IOException, InterruptedException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("echo ready; exec sleep 1000").withTerminal(24, 80));
    awaitOutput(exec, "ready");
    type(exec, "\u0003");
    assertThat(Workbench.await(exec).cause().code()).isEqualTo(130);
    Exec cat = bench.start(box, sh("stty -echo; echo ready; cat").withTerminal(24, 80));
    awaitOutput(cat, "ready");
    type(cat, "no newline");
    cat.stdin().orElseThrow().close();
    assertThat(Workbench.await(cat).cause()).isEqualTo(new Exited(0));
    assertThat(text(cat.stdout())).isEqualTo("ready\r\nno newline");
  }

  @Test
  void theLadderEndsWhateverIsInTheTerminal()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    String stubborn = "trap '' TERM HUP; setsid sleep 1000 & sleep 1000 & echo ready; sleep 1000";
    Exec exec = bench.start(box, sh(stubborn).withTerminal(24, 80));
    awaitOutput(exec, "ready");
    exec.kill(Duration.ofMillis(100));
    assertThat(Workbench.await(exec).cause()).isInstanceOf(Killed.class);
    var late = sh(stubborn).withTerminal(24, 80).withTimeout(Duration.ofMillis(300));
    var result = bench.run(box, late.withGrace(Duration.ofMillis(100)));
    assertThat(result.cause()).isInstanceOf(TimedOut.class);
    bench.assertUsable(box);
  }

  @Test
  void aWriterIsLetGoWhenACommandThatNeverReadsEnds() throws IOException, InterruptedException {
    Exec deaf =
        bench.start(bench.box(), sh("stty raw; echo ready; sleep 1000").withTerminal(24, 80));
    awaitOutput(deaf, "ready");
    Thread.ofVirtual().start(() -> deaf.kill(Duration.ofMillis(500)));
    byte[] much = new byte[1_000_000];
    assertThat(deaf.stdin().orElseThrow().write(much, 0, much.length)).isFalse();
    assertThat(Workbench.await(deaf).cause()).isInstanceOf(Killed.class);
  }

  @Test
  void aCommandWithoutATerminalHasNoSize() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("exit 0"));
    assertRefused(ErrorCode.WRONG_STATE, () -> exec.resize(24, 80));
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
  }

  @Test
  void aSignalReachesAllOfATreeAndNothingFollows() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), python(LISTENERS));
    Workbench.eventually().until(() -> text(exec.stdout()).equals("ready\n".repeat(3)));
    exec.signal(Signal.USR1);
    Workbench.eventually().until(() -> text(exec.stdout()).endsWith("heard\n".repeat(3)));
    assertThat(exec.pids()).hasSize(3);
    assertRefused(ErrorCode.BAD_REQUEST, () -> exec.signal(Signal.KILL));
    exec.kill(Duration.ZERO);
    Workbench.await(exec);
    exec.signal(Signal.USR1);
  }

  @Test
  void deathByASignalIsNoKillOfOurs() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), ExecSpec.of("sleep", "1000"));
    exec.signal(Signal.parse("SIGINT").orElseThrow());
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Signalled(2));
  }

  private static void assertRefused(ErrorCode code, Runnable request) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(request::run)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }
}
