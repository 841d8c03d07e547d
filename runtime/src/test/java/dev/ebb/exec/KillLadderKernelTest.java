package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A kill is SIGTERM to the whole tree, a grace for the whole tree, and SIGKILL. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class KillLadderKernelTest {
  private static final Duration SHORT = Duration.ofMillis(200);
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration LADDER_SLACK = Duration.ofSeconds(7);

  /** Ends well when asked, the child after its parent. */
  private static final ExecSpec GRACEFUL =
      python(
          """
          import os, signal, time
          parent = os.getpid()
          is_child = os.fork() == 0
          def end(*_):
              while is_child and os.getppid() == parent: time.sleep(0.005)
              os.write(1, b"child bye\\n" if is_child else b"parent bye\\n")
              os._exit(3)
          signal.signal(signal.SIGTERM, end)
          os.write(1, b"ready\\n")
          while True: time.sleep(0.1)  # nothing is heard that comes right before a sleep
          """);

  @RegisterExtension final Workbench bench = new Workbench();

  @ParameterizedTest
  @EnumSource
  void aKillEndsAWholeTree(Unruly tree) throws IOException, InterruptedException, KernelException {
    Box box = bench.box(tree.limits());
    Exec exec = startReady(box, tree);
    Duration grace = tree.manner() == Unruly.Manner.POLITE ? LONG : SHORT;

    long before = System.nanoTime();
    ExecResult result = exec.killAndAwait(grace);
    Duration took = Duration.ofNanos(System.nanoTime() - before);

    assertThat(result.cause()).isInstanceOf(Killed.class);
    assertThat(result.cause().status()).isEqualTo("killed");
    assertThat(result.leftovers().count()).isZero();
    switch (tree.manner()) {
      case POLITE -> {
        assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 15)));
        assertThat(took).isLessThan(grace);
      }
      case STUBBORN -> {
        assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 9)));
        assertThat(took).isGreaterThanOrEqualTo(Workbench.nearly(grace));
      }
      case RECKLESS -> {}
    }
    assertIdle(box);
    bench.assertUsable(box);
  }

  @ParameterizedTest
  @EnumSource
  void aKillWithoutGraceEndsAWholeTreeAtOnce(Unruly tree)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(tree.limits());
    Exec exec = startReady(box, tree);
    assertThat(exec.killAndAwait(Duration.ZERO).cause()).isEqualTo(new Killed(new Exit(0, 9)));
    assertIdle(box);
  }

  private Exec startReady(Box box, Unruly tree) throws IOException, KernelException {
    Exec exec = bench.start(box, tree.spec().withTimeout(Duration.ZERO));
    awaitOutput(exec, "ready");
    assertThat(exec.pids())
        .as("the tree that is to be killed")
        .hasSizeGreaterThanOrEqualTo(tree.members(bench));
    return exec;
  }

  @Test
  void withinTheGraceAWholeTreeMayEndWellAndItsOutputIsKept()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, GRACEFUL);
    awaitOutput(exec, "ready\nready\n");
    ExecResult result = exec.killAndAwait(LONG);
    assertThat(result.cause()).isEqualTo(new Killed(new Exit(3, 0)));
    assertThat(result.cause().code()).isEqualTo(3);
    assertThat(text(exec.stdout())).isEqualTo("ready\nready\nparent bye\nchild bye\n");
    assertIdle(box);
  }

  @Test
  void withoutGraceThatTreeWritesNothing() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), GRACEFUL);
    awaitOutput(exec, "ready\nready\n");
    ExecResult result = exec.killAndAwait(Duration.ZERO);
    assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 9)));
    assertThat(text(exec.stdout())).isEqualTo("ready\nready\n");
  }

  @Test
  void aChildThatIgnoresSigtermHasTheGraceAlsoWhenItsParentIsGone()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("(trap '' TERM; echo ready; sleep 1000) & exec sleep 1000"));
    awaitOutput(exec, "ready");
    long before = System.nanoTime();
    ExecResult result = exec.killAndAwait(SHORT);
    assertThat(Duration.ofNanos(System.nanoTime() - before))
        .isGreaterThanOrEqualTo(Workbench.nearly(SHORT));
    assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 15)));
    assertIdle(box);
  }

  /** A killed command that exits with 0 still counts as killed. */
  @Test
  void aCommandThatExitsWithZeroWhenKilledHasTheCodeOfSigterm()
      throws IOException, InterruptedException {
    Exec exec =
        bench.start(
            bench.box(), sh("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
    awaitOutput(exec, "ready");
    var cause = exec.killAndAwait(LONG).cause();
    assertThat(cause).isEqualTo(new Killed(new Exit(0, 0)));
    assertThat(cause.code()).isEqualTo(143);
  }

  @Test
  void aKillOfWhatHasEndedIsNoErrorAndChangesNothing()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("exit 7"));
    ExecResult result = Workbench.await(exec);
    exec.kill(Duration.ZERO);
    assertThat(exec.killAndAwait(LONG)).isSameAs(result);
    assertThat(result.cause()).isEqualTo(new Exited(7));
    bench.assertUsable(box);
  }

  @Test
  void aKillAfterTheEndOfTheBoxIsNoError() throws IOException, InterruptedException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("exec sleep 1000"));
    assertThat(bench.engine().release(box).isClean()).isTrue();
    exec.kill(Duration.ZERO);
    assertThat(exec.killAndAwait(LONG).cause()).isEqualTo(new Killed(new Exit(0, 9)));
  }

  @Test
  void aSecondKillMayShortenTheGrace() throws IOException, InterruptedException {
    Box box = bench.box(Unruly.DEAF_TO_ALL_SIGNALS.limits());
    Exec exec = bench.start(box, Unruly.DEAF_TO_ALL_SIGNALS.spec());
    awaitOutput(exec, "ready");
    exec.kill(LONG);
    assertThat(exec.await(SHORT)).as("dead within its grace").isEmpty();
    ExecResult result = exec.killAndAwait(SHORT);
    assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 9)));
    assertThat(result.wall()).as("before the engine steps in").isLessThan(LADDER_SLACK);
  }

  @Test
  void aSecondKillDoesNotProlongTheGrace() throws IOException, InterruptedException {
    Box box = bench.box(Unruly.DEAF_TO_ALL_SIGNALS.limits());
    Exec exec = bench.start(box, Unruly.DEAF_TO_ALL_SIGNALS.spec());
    awaitOutput(exec, "ready");
    exec.kill(SHORT);
    exec.kill(LONG);
    ExecResult result = Workbench.await(exec);
    assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, 9)));
    assertThat(result.wall()).isBetween(SHORT, LONG);
  }

  @Test
  void killsFromManyThreadsAtOnceEndInOneTruth() throws IOException, InterruptedException {
    Exec exec = bench.start(bench.box(), Unruly.SLEEPER.spec());
    awaitOutput(exec, "ready");
    var killers = new ArrayList<Thread>();
    for (int i = 0; i < 20; i++) {
      killers.add(Thread.ofVirtual().name("killer-" + i).start(() -> exec.kill(LONG)));
    }
    for (Thread killer : killers) {
      killer.join();
    }
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Killed(new Exit(0, 15)));
  }

  /** The command may be anywhere between clone(2) and its first instruction. */
  @Test
  void aCommandIsKilledHoweverEarly() throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    for (int i = 0; i < 40; i++) {
      try (Exec exec = bench.start(box, ExecSpec.of("sleep", "1000"))) {
        ExecResult result = exec.killAndAwait(i % 2 == 0 ? LONG : Duration.ZERO);
        assertThat(result.cause()).isEqualTo(new Killed(new Exit(0, i % 2 == 0 ? 15 : 9)));
      }
    }
    assertIdle(box);
  }

  @Test
  void onlyTheKilledOneOfSeveralCommandsEnds()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    var execs = new ArrayList<Exec>();
    for (int i = 0; i < 5; i++) {
      // Each has a child, to check that the trees are distinguished.
      execs.add(bench.start(box, sh("sleep 1000 & echo ready; read w; exit " + i).withInput()));
    }
    execs.forEach(exec -> awaitOutput(exec, "ready"));

    assertThat(execs.remove(2).killAndAwait(LONG).cause()).isInstanceOf(Killed.class);

    int each = bench.hasSubreapers() ? 3 : 2;
    assertThat(box.footprint().pids())
        .as("init, and a tree a command")
        .hasSize(1 + each * execs.size());
    assertThat(execs).allSatisfy(exec -> assertThat(exec.pids()).hasSize(2));
    for (Exec exec : execs) {
      exec.stdin().orElseThrow().write("go\n".getBytes(UTF_8), 0, 3);
    }
    var codes = new ArrayList<Integer>();
    for (Exec exec : execs) {
      codes.add(Workbench.await(exec).cause().code());
    }
    assertThat(codes).isEqualTo(List.of(0, 1, 3, 4));
    assertIdle(box);
  }

  @Test
  void afterAKillTheNextCommandDoesNotWaitForItsGrace()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Unruly.DEAF_TO_ALL_SIGNALS.limits());
    Exec deaf = bench.start(box, Unruly.DEAF_TO_ALL_SIGNALS.spec());
    awaitOutput(deaf, "ready");
    deaf.kill(LONG);
    Exec next = bench.start(box, sh("echo fine"));
    assertThat(Workbench.await(next).cause()).isEqualTo(new Exited(0));
    assertThat(deaf.await(Duration.ZERO)).as("dead within its grace").isEmpty();
    deaf.killAndAwait(Duration.ZERO);
    assertIdle(box);
  }
}
