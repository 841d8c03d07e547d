package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.bytes;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.model.ExitCause.NotStarted;
import dev.ebb.model.ExitCause.TimedOut;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A command gets its input at its own pace, and the writer never waits for ever. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class StdinKernelTest {
  private static final byte[] TWENTY_MEGABYTES = new byte[20_000_000];

  static {
    new Random(42).nextBytes(TWENTY_MEGABYTES);
  }

  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void twentyMegabytesPassThroughCatByteForByte() throws IOException, InterruptedException {
    var spec = ExecSpec.of("cat").withInput().withOutputLimit(ByteSize.mebibytes(32));
    Exec exec = bench.start(bench.box(), spec);
    assertThat(write(exec, TWENTY_MEGABYTES)).isTrue();
    exec.stdin().orElseThrow().close();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(Arrays.equals(bytes(exec.stdout()), TWENTY_MEGABYTES)).isTrue();
  }

  @Test
  void inputInMemoryNeedsNoWriterAndIsReadOnly() throws IOException, InterruptedException {
    var spec = sh("cat; echo x > /proc/self/fd/0 || echo refused >&2");
    Exec exec =
        Exec.start(bench.box(), spec.withOutputLimit(ByteSize.mebibytes(32)), TWENTY_MEGABYTES);
    assertThat(exec.stdin()).isEmpty();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(Arrays.equals(bytes(exec.stdout()), TWENTY_MEGABYTES)).isTrue();
    assertThat(text(exec.stderr())).contains("refused");
  }

  @Test
  void inputThatIsClosedAtOnceIsEmpty() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("wc -c").withInput());
    exec.stdin().orElseThrow().close();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(text(exec.stdout())).isEqualTo("0\n");
  }

  @Test
  void withoutInputStdinIsEmpty() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("readlink /proc/self/fd/0; wc -c"));
    assertThat(exec.stdin()).isEmpty();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(text(exec.stdout())).isEqualTo("/dev/null\n0\n");
  }

  @Test
  void aCommandThatEndsWithoutReadingLetsItsWriterGo() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("exit 3").withInput());
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(3));
  }

  @Test
  void aCommandThatCannotStartLetsItsWriterGo() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), ExecSpec.of("no-such-command").withInput());
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(Workbench.await(exec).cause()).isInstanceOf(NotStarted.class);
  }

  @Test
  void aCommandThatNeverReadsLetsItsWriterGoAtItsTimeout()
      throws IOException, InterruptedException {
    var spec = sh("exec sleep 1000").withInput().withTimeout(Duration.ofMillis(300));
    Exec exec = bench.start(bench.box(), spec);
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(Workbench.await(exec).cause()).isInstanceOf(TimedOut.class);
  }

  @Test
  void aCommandThatClosesItsInputLivesOnAndLetsItsWriterGo()
      throws IOException, InterruptedException {
    Exec exec =
        bench.start(
            bench.box(),
            python("import os,time; os.close(0); os.write(1, b'closed\\n'); time.sleep(1000)")
                .withInput());
    awaitOutput(exec, "closed");
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(exec.await(Duration.ZERO)).as("its end").isEmpty();
    assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(Killed.class);
  }

  @Test
  void aCommandThatReadsALittleEndsAsItLikes() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("head -c 5").withInput());
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(bytes(exec.stdout())).isEqualTo(Arrays.copyOf(TWENTY_MEGABYTES, 5));
  }

  /** The daemon could read on; but the command has ended, and so has its input. */
  @Test
  void aKeptDaemonThatHoldsStdinLetsTheWriterGo() throws IOException, InterruptedException {
    Exec exec =
        bench.start(bench.box(), sh("exec 3<&0; sleep 1000 & exit 0").withInput().withKeep());
    assertThat(write(exec, TWENTY_MEGABYTES)).isFalse();
    assertThat(Workbench.await(exec).leftovers().kept()).hasSize(1);
  }

  @Test
  void closingTheInputFreesAWriterThatWaits()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    for (int i = 0; i < 20; i++) {
      try (Exec exec = bench.start(bench.box(), sh("exec sleep 1000").withInput())) {
        var writing = new FutureTask<>(() -> write(exec, TWENTY_MEGABYTES));
        Thread.ofVirtual().name("writer").start(writing);
        exec.stdin().orElseThrow().close();
        assertThat(writing.get(30, SECONDS)).isFalse();
      }
    }
  }

  @Test
  void inputIsGivenLive() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), sh("while read w; do echo got $w; done").withInput());
    for (String word : new String[] {"one", "two", "three"}) {
      assertThat(write(exec, (word + "\n").getBytes(UTF_8))).isTrue();
      awaitOutput(exec, "got " + word + "\n");
    }
    exec.stdin().orElseThrow().close();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
  }

  private static boolean write(Exec exec, byte[] bytes) throws InterruptedException {
    return exec.stdin().orElseThrow().write(bytes, 0, bytes.length);
  }
}
