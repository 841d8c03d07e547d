package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.nearly;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.TimedOut;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("kernel")
@LeakChecked
@Timeout(120)
final class TimeoutKernelTest {
  private static final Duration SHORT = Duration.ofMillis(200);
  private static final Duration LONG = Duration.ofSeconds(60);

  @RegisterExtension final Workbench bench = new Workbench();

  private record TimedRun(Duration timeout, ExecResult result, String stdout) {}

  @ParameterizedTest
  @EnumSource
  void atItsTimeoutAWholeTreeEnds(Unruly tree)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(tree.limits());
    boolean polite = tree.manner() == Unruly.Manner.POLITE;
    Duration grace = polite ? LONG : SHORT;

    TimedRun run = timeOutOnceReady(box, tree.spec().withGrace(grace));

    assertThat(run.result().cause()).isInstanceOf(TimedOut.class);
    assertThat(run.result().cause().status()).isEqualTo("timed-out");
    assertThat(run.result().cause().code()).isEqualTo(124);
    assertThat(run.result().wall()).isGreaterThanOrEqualTo(nearly(run.timeout()));
    switch (tree.manner()) {
      case POLITE -> {
        assertThat(run.result().cause()).isEqualTo(new TimedOut(new Exit(0, 15)));
        assertThat(run.result().wall()).isLessThan(run.timeout().plus(grace));
      }
      case STUBBORN -> {
        assertThat(run.result().cause()).isEqualTo(new TimedOut(new Exit(0, 9)));
        assertThat(run.result().wall()).isGreaterThanOrEqualTo(nearly(run.timeout().plus(grace)));
      }
      case RECKLESS -> {}
    }
    assertIdle(box);
    bench.assertUsable(box);
  }

  /** Longer and longer timeouts, until the machine was fast enough for the tree to stand. */
  private TimedRun timeOutOnceReady(Box box, ExecSpec spec)
      throws IOException, InterruptedException {
    for (Duration timeout = SHORT; ; timeout = timeout.multipliedBy(2)) {
      Exec exec = bench.start(box, spec.withTimeout(timeout));
      ExecResult result = Workbench.await(exec);
      if (text(exec.stdout()).contains("ready")) {
        return new TimedRun(timeout, result, text(exec.stdout()));
      }
      assertThat(timeout).as("time to get ready").isLessThan(LONG);
    }
  }

  @Test
  void withoutATimeoutTheSameSleeperLivesOn() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), Unruly.SLEEPER.spec().withTimeout(Duration.ZERO));
    awaitOutput(exec, "ready");
    assertThat(exec.await(SHORT.multipliedBy(2))).isEmpty();
  }

  @Test
  void aTimeoutWithoutGraceKillsAtOnce() throws IOException, InterruptedException {
    var run =
        bench.run(Unruly.DEAF_TO_ALL_SIGNALS.spec().withTimeout(SHORT).withGrace(Duration.ZERO));
    assertThat(run.cause()).isEqualTo(new TimedOut(new Exit(0, 9)));
    assertThat(run.result().wall()).isBetween(nearly(SHORT), LONG);
  }

  @Test
  void outputWithinTheGraceOfATimeoutIsKept() throws IOException, InterruptedException {
    var spec = sh("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    TimedRun run = timeOutOnceReady(bench.box(), spec.withGrace(LONG));
    assertThat(run.result().cause()).isEqualTo(new TimedOut(new Exit(3, 0)));
    assertThat(run.stdout()).isEqualTo("ready\nbye\n");
  }

  @Test
  void aTimeoutBelowAMillisecondIsStillOne() throws IOException, InterruptedException {
    var run = bench.run(sh("exec sleep 10").withTimeout(Duration.ofNanos(1)));
    assertThat(run.cause()).isInstanceOf(TimedOut.class);
  }

  /** Nor is the next one, for which its deadline was not meant. */
  @Test
  void aCommandThatEndsInTimeIsNotTimedOut()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Duration timeout = TestHost.patience(Duration.ofSeconds(3));
    assertThat(bench.run(box, sh("exit 0").withTimeout(timeout)).cause())
        .isEqualTo(new ExitCause.Exited(0));
    String longer = "import time; time.sleep(%d.1)".formatted(timeout.toSeconds());
    ExecResult next = bench.run(box, python(longer).withTimeout(LONG));
    assertThat(next.cause()).isEqualTo(new ExitCause.Exited(0));
    assertIdle(box);
  }

  @Test
  void aTimeoutEndsItsOwnCommandOnly() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec patient = bench.start(box, sh("read word; echo got $word; exit 7").withInput());
    Exec hasty = bench.start(box, sh("exec sleep 1000").withTimeout(SHORT));

    assertThat(Workbench.await(hasty).cause()).isEqualTo(new TimedOut(new Exit(0, 15)));
    assertThat(patient.stdin().orElseThrow().write("it\n".getBytes(UTF_8), 0, 3)).isTrue();

    assertThat(Workbench.await(patient).cause()).isEqualTo(new ExitCause.Exited(7));
    assertThat(text(patient.stdout())).isEqualTo("got it\n");
    assertIdle(box);
  }
}
