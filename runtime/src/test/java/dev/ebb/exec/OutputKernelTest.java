package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.bytes;
import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.OutputLimit;
import dev.ebb.model.ExitCause.OutputLost;
import dev.ebb.model.OutputLoss;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Output is byte-exact, live, and capped. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class OutputKernelTest {
  private static final int FIFTY_MEGABYTES = 50_000_000;
  private static final String FLOOD =
      "import os\nfor _ in range(1000): os.write(1, b'0123456789abcdef' * 3125)";
  private static final int EFBIG = 27;
  private static final ByteSize CAP = ByteSize.mebibytes(1);

  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void everyByteArrivesAsItIsOnBothStreams() throws IOException, InterruptedException {
    byte[] every = new byte[256 * 100];
    IntStream.range(0, every.length).forEach(i -> every[i] = (byte) i);
    var run =
        bench.run(
            python("import os; b = bytes(range(256)) * 100; os.write(1, b); os.write(2, b[::-1])"));
    assertThat(run.stdout().bytes()).isEqualTo(every);
    byte[] reversed = new byte[every.length];
    IntStream.range(0, every.length).forEach(i -> reversed[i] = every[every.length - 1 - i]);
    assertThat(run.stderr().bytes()).isEqualTo(reversed);
  }

  @Test
  void nulBytesAreOutputLikeAnyOther() throws IOException, InterruptedException {
    var run = bench.run(sh("printf 'a\\0\\0b\\0'"));
    assertThat(run.stdout().bytes()).containsExactly('a', 0, 0, 'b', 0);
  }

  @Test
  void aLastLineWithoutItsNewlineStaysWithout() throws IOException, InterruptedException {
    assertThat(bench.run(sh("printf 'one\\ntwo'")).stdout().text()).isEqualTo("one\ntwo");
  }

  @Test
  void noOutputIsNoOutput() throws IOException, InterruptedException {
    var run = bench.run(sh("true"));
    assertThat(run.stdout().bytes()).isEmpty();
    assertThat(run.stderr().bytes()).isEmpty();
  }

  @Test
  void twoHundredThousandLinesArriveByteForByte() throws IOException, InterruptedException {
    String lines =
        IntStream.rangeClosed(1, 200_000)
            .mapToObj(Integer::toString)
            .collect(Collectors.joining("\n", "", "\n"));
    var run = bench.run(sh("seq 200000 & seq 200000 >&2; wait"));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.stdout().text().equals(lines)).as("stdout").isTrue();
    assertThat(run.stderr().text().equals(lines)).as("stderr").isTrue();
    assertThat(run.result().stdoutSize()).isEqualTo(lines.length());
  }

  /** More than init reads at once, and all of it written while init could not look. */
  @Test
  void outputInThePipeAtTheEndOfTheCommandArrives()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var program =
        """
        import fcntl, os
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)
        os.write(1, b"ready"); os.read(0, 1)
        os.write(1, b"x" * (1 << 20))
        """;
    Exec exec = bench.start(box, python(program).withInput());
    awaitOutput(exec, "ready");
    BoxCgroup cgroup = Workbench.cgroup(box);
    Cgroup init = cgroup.init();
    init.freeze(true);
    try {
      eventually().until(() -> isFrozen(init));
      exec.stdin().orElseThrow().write(new byte[1], 0, 1);
      eventually().until(() -> !cgroup.leaf(exec.number()).isPopulated());
    } finally {
      init.freeze(false);
    }
    assertThat(Workbench.await(exec).stdoutSize()).isEqualTo("ready".length() + (1 << 20));
  }

  private static boolean isFrozen(Cgroup cgroup) throws IOException {
    return Files.readString(cgroup.path().resolve("cgroup.events")).contains("frozen 1");
  }

  @Test
  void outputThatCannotBeKeptIsReported() throws IOException, InterruptedException {
    bench.engine();
    Box box;
    limitFileSize("65536");
    try {
      box = bench.box();
    } finally {
      limitFileSize("unlimited");
    }
    ExecResult result = bench.run(box, sh("head -c 100000 /dev/zero"));
    assertThat(result.cause()).isEqualTo(new OutputLost(new Exit(0, 0)));
    assertThat(result.stdoutSize()).isEqualTo(65536);
    assertThat(result.loss()).isEqualTo(new OutputLoss(100000 - 65536, 0, EFBIG));
  }

  /** The limit of this JVM, and of the inits that it starts meanwhile. */
  private static void limitFileSize(String soft) throws IOException, InterruptedException {
    var self = Long.toString(ProcessHandle.current().pid());
    var prlimit = new ProcessBuilder("prlimit", "--pid", self, "--fsize=" + soft + ":");
    assertThat(prlimit.inheritIO().start().waitFor()).isZero();
  }

  @Test
  void outputIsReadWhileTheCommandRuns() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("echo now; read word; echo $word").withInput());
    awaitOutput(exec, "now\n");
    assertThat(exec.await(Duration.ZERO)).isEmpty();
    exec.stdin().orElseThrow().write("then\n".getBytes(US_ASCII), 0, 5);
    Workbench.await(exec);
    assertThat(text(exec.stdout())).isEqualTo("now\nthen\n");
  }

  @Test
  void outputIsReadAgainFromAnyOffset() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("printf 0123456789"));
    Workbench.await(exec);
    byte[] some = new byte[3];
    assertThat(exec.stdout().read(4, some)).isEqualTo(3);
    assertThat(some).asString(US_ASCII).isEqualTo("456");
    assertThat(exec.stdout().read(9, some)).isEqualTo(1);
    assertThat(exec.stdout().read(10, some)).isZero();
    assertThat(text(exec.stdout())).isEqualTo("0123456789");
  }

  @Test
  void fiftyMegabytesAreCutAtTheCapAndNothingIsAdded()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, python(FLOOD).withOutputLimit(CAP));
    ExecResult result = Workbench.await(exec);

    assertThat(result.cause()).isInstanceOf(OutputLimit.class);
    assertThat(result.cause().status()).isEqualTo("output-limit");
    assertThat(result.cause().code()).isEqualTo(137);
    assertThat(result.truncated()).isTrue();
    assertThat(text(exec.stdout())).hasSize((int) CAP.bytes());
    assertThat(text(exec.stdout()).substring(0, (int) CAP.bytes()))
        .isEqualTo("0123456789abcdef".repeat((int) CAP.bytes() / 16));
    assertIdle(box);
    bench.assertUsable(box);
  }

  @Test
  void belowTheirCapFiftyMegabytesArriveWhole() throws IOException, InterruptedException {
    var run = bench.run(python(FLOOD).withOutputLimit(new ByteSize(FIFTY_MEGABYTES)));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.result().truncated()).isFalse();
    byte[] expected = "0123456789abcdef".repeat(FIFTY_MEGABYTES / 16).getBytes(US_ASCII);
    assertThat(Arrays.equals(run.stdout().bytes(), expected)).isTrue();
  }

  @Test
  void exactlyTheCapIsNotCut() throws IOException, InterruptedException {
    var run = bench.run(sh("head -c 1048576 /dev/zero").withOutputLimit(CAP));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.result().truncated()).isFalse();
    assertThat(run.result().stdoutSize()).isEqualTo(CAP.bytes());
  }

  /** The loss may be noticed before or after the command has ended by itself. */
  @Test
  void oneByteMoreThanTheCapIsCut() throws IOException, InterruptedException {
    for (int i = 0; i < 10; i++) {
      var run = bench.run(sh("head -c 1048577 /dev/zero").withOutputLimit(CAP));
      assertThat(run.cause()).isInstanceOf(OutputLimit.class);
      assertThat(run.result().truncated()).isTrue();
      assertThat(run.result().stdoutSize()).isEqualTo(CAP.bytes());
    }
  }

  @Test
  void theCapIsForBothStreamsTogether() throws IOException, InterruptedException {
    var run =
        bench.run(
            sh("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2").withOutputLimit(CAP));
    assertThat(run.cause()).isInstanceOf(OutputLimit.class);
    assertThat(run.result().stdoutSize()).isEqualTo(1_000_000);
    assertThat(run.result().stderrSize()).isEqualTo(CAP.bytes() - 1_000_000);
  }

  @Test
  void aFloodThatIgnoresSigtermIsKilledAfterItsGrace() throws IOException, InterruptedException {
    Duration grace = Duration.ofMillis(200);
    var run =
        bench.run(
            sh("trap '' TERM PIPE; while :; do echo more; done 2>&-")
                .withOutputLimit(new ByteSize(1000))
                .withGrace(grace));
    assertThat(run.cause()).isEqualTo(new OutputLimit(new Exit(0, 9)));
    assertThat(run.result().wall()).isGreaterThanOrEqualTo(grace);
    assertThat(run.stdout().text()).isEqualTo("more\n".repeat(200));
  }

  @Test
  void aFloodInOneCommandDoesNotHoldUpAnother() throws IOException, InterruptedException {
    Box box = bench.box();
    Exec flood = bench.start(box, sh("while :; do echo more; done"));
    awaitOutput(flood, "more");
    for (int i = 0; i < 10; i++) {
      Exec other = bench.start(box, sh("echo " + i));
      Workbench.await(other);
      assertThat(bytes(other.stdout())).asString(US_ASCII).isEqualTo(i + "\n");
    }
    assertThat(flood.killAndAwait(Duration.ZERO).truncated()).isFalse();
  }
}
