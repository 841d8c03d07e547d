package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecResult.Kept;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.TimedOut;
import dev.ebb.process.ProcFs;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that a command leaves running: killed by default, kept and listed on request. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class LeftoversKernelTest {
  /** Leaves a daemon that has left its session, ignores SIGTERM and holds all streams. */
  private static final String DAEMON =
      """
      import os, signal, sys, time
      ready, told = os.pipe()
      if os.fork() == 0:
          os.setsid()
          if os.fork(): os._exit(0)
          signal.signal(signal.SIGTERM, signal.SIG_IGN)
          floods = sys.argv[1] == "floods"
          if floods: os.write(1, b"daemon\\n")
          os.write(told, b"x")
          while floods: os.write(1, b"daemon\\n" * 1000)
          time.sleep(1000)
      os.wait(); os.read(ready, 1)
      print("leader bye", flush=True)
      sys.exit(4)
      """;

  private static final ExecSpec SLEEPS = python(DAEMON, "sleeps");
  private static final ExecSpec FLOODS = python(DAEMON, "floods");

  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void aDaemonThatHoldsStdoutDoesNotHoldTheCaller()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("sleep 1000 & echo started"));
    ExecResult result = Workbench.await(exec);
    assertThat(result.cause()).isEqualTo(new Exited(0));
    assertThat(text(exec.stdout())).isEqualTo("started\n");
    assertThat(result.leftovers()).isEqualTo(new ExecResult.Leftovers(1, List.of()));
    assertIdle(box);
    bench.assertUsable(box);
  }

  @Test
  void aDaemonInASessionOfItsOwnIsKilledWithItsCommand()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, SLEEPS);
    ExecResult result = Workbench.await(exec);
    assertThat(result.cause()).isEqualTo(new Exited(4));
    assertThat(text(exec.stdout())).isEqualTo("leader bye\n");
    assertThat(result.leftovers().count()).isEqualTo(1);
    assertIdle(box);
  }

  /** The control for the two above: it is the kill that ends them. */
  @Test
  void keptDaemonsLiveAndAreListed() throws IOException, InterruptedException {
    Box box = bench.box();
    ExecResult result = bench.run(box, SLEEPS.withKeep());
    assertThat(result.cause()).isEqualTo(new Exited(4));
    assertThat(result.leftovers().count()).isEqualTo(1);
    assertThat(result.leftovers().kept()).hasSize(1);
    Kept kept = result.leftovers().kept().getFirst();
    assertThat(kept.command()).startsWith("/usr/bin/python3 -c import os");
    assertThat(box.footprint().pids()).contains(kept.pid());
    assertThat(ProcFs.stat(kept.pid()).orElseThrow().isZombie()).isFalse();
  }

  @Test
  void keptDaemonsEndWithTheirBox() throws IOException, InterruptedException {
    Box box = bench.box();
    int pid = bench.run(box, SLEEPS.withKeep()).leftovers().kept().getFirst().pid();
    assertThat(bench.engine().release(box).isClean()).isTrue();
    assertThat(ProcFs.stat(pid)).isEmpty();
  }

  /** Whatever else runs in the box. */
  @Test
  void processesOfAnotherCommandAreNotKept() throws IOException, InterruptedException {
    Box box = bench.box();
    bench.start(box, sh("sleep 1000 & exec sleep 1000"));
    ExecResult result = bench.run(box, sh("sleep 0 & wait").withKeep());
    assertThat(result.leftovers()).isEqualTo(new ExecResult.Leftovers(0, List.of()));
  }

  @Test
  void whereNothingIsLeftNothingIsKept() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    ExecResult result = bench.run(box, sh("sleep 0 & wait").withKeep());
    assertThat(result.leftovers()).isEqualTo(new ExecResult.Leftovers(0, List.of()));
    assertIdle(box);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDaemonThatWritesForEverDoesNotHoldTheCaller(boolean keep)
      throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), keep ? FLOODS.withKeep() : FLOODS);
    ExecResult result = Workbench.await(exec);
    // The command may reach the output limit before its leader ends: this test ignores the cause.
    assertThat(text(exec.stdout())).startsWith("daemon\n");
    assertThat(exec.stdout().isEnd(result.stdoutSize())).isTrue();
  }

  @Test
  void aTimeoutEndsWhatAKeepingCommandWouldHaveKept()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var spec = sh("sleep 1000 & sleep 1000").withKeep().withTimeout(Duration.ofMillis(200));
    ExecResult result = bench.run(box, spec);
    assertThat(result.cause()).isInstanceOf(TimedOut.class);
    assertThat(result.leftovers()).isEqualTo(new ExecResult.Leftovers(0, List.of()));
    assertIdle(box);
  }

  @Test
  void aHundredDaemonsAreKilledAndCounted()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    ExecResult result = bench.run(box, sh("for i in $(seq 100); do sleep 1000 & done; exit 0"));
    assertThat(result.cause()).isEqualTo(new Exited(0));
    assertThat(result.leftovers().count()).isEqualTo(100);
    assertIdle(box);
  }

  /** Both in one box: the kill of one tree leaves the other alone. */
  @Test
  void theDaemonsOfAnotherCommandAreLeftAlone() throws IOException, InterruptedException {
    Box box = bench.box();
    Kept kept = bench.run(box, SLEEPS.withKeep()).leftovers().kept().getFirst();
    bench.run(box, SLEEPS);
    int subreapers = bench.hasSubreapers() ? 1 : 0;
    assertThat(box.footprint().pids()).hasSize(2 + subreapers).contains(kept.pid());
  }
}
