package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.NotStarted;
import dev.ebb.model.ExitCause.Signalled;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How commands start, what they are given, and how their own end is reported. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class ExecKernelTest {
  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void aCommandThatSucceedsExitsWithZero() throws IOException, InterruptedException {
    var run = bench.run(sh("echo hello; echo trouble >&2"));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.cause().status()).isEqualTo("exited");
    assertThat(run.cause().code()).isZero();
    assertThat(run.stdout().text()).isEqualTo("hello\n");
    assertThat(run.stderr().text()).isEqualTo("trouble\n");
    assertThat(run.result().truncated()).isFalse();
    assertThat(run.result().leftovers().count()).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 42, 124, 125, 126, 127, 128, 130, 255})
  void anExitCodeIsNotReadAsAKill(int code) throws IOException, InterruptedException {
    ExitCause cause = bench.run(sh("exit " + code)).cause();
    assertThat(cause).isEqualTo(new Exited(code));
    assertThat(cause.status()).isEqualTo("exited");
    assertThat(cause.code()).isEqualTo(code);
  }

  /** The exit code of a shell for a killed child. */
  @ParameterizedTest
  @ValueSource(ints = {137, 143})
  void theExitCodesOfKilledChildrenReadAsKilled(int code) throws IOException, InterruptedException {
    ExitCause cause = bench.run(sh("exit " + code)).cause();
    assertThat(cause).isEqualTo(new Exited(code));
    assertThat(cause.status()).isEqualTo("killed");
    assertThat(cause.code()).isEqualTo(code);
  }

  @ParameterizedTest
  @CsvSource({"HUP, 1", "INT, 2", "ABRT, 6", "KILL, 9", "SEGV, 11", "TERM, 15", "XFSZ, 25"})
  void deathByASignalNamesTheSignal(String name, int number)
      throws IOException, InterruptedException {
    ExitCause cause = bench.run(sh("kill -" + name + " $$")).cause();
    assertThat(cause).isEqualTo(new Signalled(number));
    assertThat(cause.status()).isEqualTo("killed");
    assertThat(cause.code()).isEqualTo(128 + number);
  }

  @ParameterizedTest
  @ValueSource(strings = {"no-such-command", "./no-such-file", "/no/such/directory/x"})
  void aMissingCommandIsNotFound(String command) throws IOException, InterruptedException {
    var run = bench.run(ExecSpec.of(command));
    assertThat(run.cause()).isInstanceOf(NotStarted.class);
    assertThat(run.cause().code()).isEqualTo(127);
    assertThat(run.cause().status()).isEqualTo("not-started");
    assertThat(run.cause().toString()).contains(command);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/etc/passwd", "/workspace", "/dev/null", "/etc/passwd/x"})
  void aFileWithoutExecutePermissionIsNotExecutable(String command)
      throws IOException, InterruptedException {
    var run = bench.run(ExecSpec.of(command));
    assertThat(run.cause()).isInstanceOf(NotStarted.class);
    assertThat(run.cause().code()).isEqualTo(126);
    assertThat(run.cause().toString()).contains(command);
  }

  @Test
  void aScriptWithoutAnInterpreterLineIsRunByAShell() throws IOException, InterruptedException {
    Box box = bench.box();
    bench.run(box, sh("echo 'echo ran with $1' > script; chmod +x script"));
    Exec script = bench.start(box, ExecSpec.of("./script", "a word"));
    assertThat(Workbench.await(script).cause()).isEqualTo(new Exited(0));
    assertThat(text(script.stdout())).isEqualTo("ran with a word\n");
  }

  @Test
  void aScriptWithoutItsInterpreterIsNotFound() throws IOException, InterruptedException {
    Box box = bench.box();
    bench.run(box, sh("echo '#!/no/such/interpreter' > script; chmod +x script"));
    assertThat(bench.run(box, ExecSpec.of("./script")).cause().code()).isEqualTo(127);
  }

  @Test
  void aBoxOutlivesACommandThatCouldNotStart()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    assertThat(bench.run(box, ExecSpec.of("no-such-command")).cause().code()).isEqualTo(127);
    assertIdle(box);
    bench.assertUsable(box);
  }

  @Test
  void argumentsArriveByteForByte() throws IOException, InterruptedException {
    var words =
        List.of("", " ", "new\nline", "tab\tand 'quotes\"", "$HOME `id` \\", "žluťoučký 🌊");
    var run =
        bench.run(
            python(
                "import os,sys; [os.write(1, os.fsencode(a) + b'\\0') for a in sys.argv[1:]]",
                words.toArray(String[]::new)));
    assertThat(run.stdout().bytes()).isEqualTo((String.join("\0", words) + "\0").getBytes(UTF_8));
  }

  @Test
  void theEnvironmentIsTheBoxsDefaultsAndTheCallersWordsOnly()
      throws IOException, InterruptedException {
    var run =
        bench.run(ExecSpec.of("env", "-0").withEnvironment(Map.of("WORD", "a\nb=c", "E", "")));
    assertThat(run.stdout().text().split("\0"))
        .containsExactlyInAnyOrder(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/tmp/home",
            "USER=box",
            "LOGNAME=box",
            "SHELL=/bin/bash",
            "LANG=C.UTF-8",
            "TMPDIR=/tmp",
            "WORD=a\nb=c",
            "E=");
  }

  @Test
  void theCallersPathIsSearched() throws IOException, InterruptedException {
    var spec = ExecSpec.of("true");
    assertThat(bench.run(spec).cause()).isEqualTo(new Exited(0));
    assertThat(bench.run(spec.withEnvironment(Map.of("PATH", "/nowhere"))).cause().code())
        .isEqualTo(127);
  }

  @Test
  void aMebibyteOfEnvironmentArrives() throws IOException, InterruptedException {
    var environment = new HashMap<String, String>();
    for (int i = 0; i < 16; i++) {
      environment.put("V" + i, Character.toString('a' + i).repeat(64 << 10));
    }
    var spec =
        python("import os; print(sum(len(v) for k, v in os.environ.items() if k[0] == 'V'))");
    assertThat(bench.run(spec.withEnvironment(environment)).stdout().text()).isEqualTo("1048576\n");
  }

  /** KERNEL: one string may have 128 KiB (MAX_ARG_STRLEN). */
  @Test
  void aVariableTooLongForTheKernelMakesTheCommandNotExecutable()
      throws IOException, InterruptedException {
    var spec = sh("true").withEnvironment(Map.of("V", "x".repeat(1 << 20)));
    ExitCause cause = bench.run(spec).cause();
    assertThat(cause.code()).isEqualTo(126);
    assertThat(cause.toString()).contains("E2BIG");
  }

  @Test
  void anEnvironmentTooLongForInitIsTheCallersFaultAndHarmsNoOtherCommand()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var spec = sh("true").withEnvironment(Map.of("V", "x".repeat(5 << 20)));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> bench.start(box, spec))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_REQUEST));
    assertIdle(box);
    bench.assertUsable(box);
  }

  @Test
  void aCommandStartsInTheWorkspaceOrInItsWorkingDirectory()
      throws IOException, InterruptedException {
    assertThat(bench.run(ExecSpec.of("pwd")).stdout().text()).isEqualTo("/workspace\n");
    assertThat(bench.run(ExecSpec.of("pwd").withWorkdir("/tmp")).stdout().text())
        .isEqualTo("/tmp\n");
  }

  @ParameterizedTest
  @CsvSource({"/no/such/directory, ENOENT", "/etc/passwd, ENOTDIR"})
  void aBadWorkingDirectoryIsTheCallersFault(String directory, String errno)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("true").withWorkdir(directory));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> exec.await(Workbench.PATIENCE))
        .withMessageContaining(directory)
        .withMessageContaining(errno)
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_REQUEST));
    assertIdle(box);
    bench.assertUsable(box);
  }

  @Test
  void eachCommandLeadsASessionOfItsOwn() throws IOException, InterruptedException {
    var run = bench.run(python("import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())"));
    assertThat(run.stdout().text()).isEqualTo("True\n");
  }

  @Test
  void aHundredCommandsLeaveNothingInTheirBox()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    int descriptors = box.footprint().descriptors().size();
    for (int i = 0; i < 100; i++) {
      try (Exec exec = bench.start(box, sh("exit " + i))) {
        assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(i));
      }
    }
    assertIdle(box);
    assertThat(box.footprint().descriptors().size()).isEqualTo(descriptors);
  }

  @Test
  void everyCallerGetsOneResult() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("exit 5"));
    ExecResult first = Workbench.await(exec);
    assertThat(Workbench.await(exec)).isSameAs(first);
    assertThat(exec.killAndAwait(Duration.ZERO)).isSameAs(first);
  }

  /** The wall time does not last until a caller asks for the result. */
  @Test
  void theWallTimeEndsWithTheCommand() throws IOException, InterruptedException {
    Box box = bench.box();
    long before = System.nanoTime();
    Exec first = bench.start(box, sh("sleep 0.1"));
    eventually().until(() -> first.stdout().isEnd(0));
    ExecResult second = bench.run(box, sh("sleep 0.1"));
    Duration both = Duration.ofNanos(System.nanoTime() - before);
    assertThat(Workbench.await(first).wall()).isBetween(Duration.ofMillis(100), both);
    assertThat(Workbench.await(first).wall().plus(second.wall())).isLessThanOrEqualTo(both);
  }

  @Test
  void nothingStartsInABoxThatHasEnded() throws IOException {
    Box box = bench.box();
    assertThat(bench.engine().release(box).isClean()).isTrue();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> bench.start(box, sh("true")))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));
  }
}
