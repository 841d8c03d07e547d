package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.box.Box;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A box stands still while it is paused, may die, and can be ended in any state. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class PauseKernelTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(10));
  private static final String TICKER = "while :; do echo tick; sleep 0.01; done";

  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void aPausedBoxDoesNothingAndGoesOnAfterwards() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box box = bench.box();
    Exec exec = bench.start(box, sh(TICKER));
    awaitOutput(exec, "tick");

    box.pause();
    assertThat(box.state()).isEqualTo(BoxState.PAUSED);
    // Output that was in the pipe when the command froze still arrives.
    eventually().until(() -> isQuiet(exec));
    box.pause();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> bench.start(box, sh("true")))
        .withMessageContaining("is not running but paused")
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));

    long before = exec.stdout().size();
    box.resume();
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
    eventually().until(() -> exec.stdout().size() > before);
  }

  /** A command that is frozen before it runs would block its caller until the box goes on. */
  @Test
  void aCommandIsStartedBeforeAPauseOrRefusedAfterIt() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box box = bench.box();
    for (int i = 0; i < 60; i++) {
      var start =
          CompletableFuture.supplyAsync(
              () -> hasStarted(box), task -> Thread.ofVirtual().start(task));
      box.pause();
      assertThat(start).as("round %d", i).succeedsWithin(SOON.multipliedBy(2)).isEqualTo(true);
      box.resume();
    }
  }

  /** Or was refused. */
  private static boolean hasStarted(Box box) {
    try {
      return Exec.start(box, sh("true")).awaitStart(SOON);
    } catch (SandboxException e) {
      return e.code() == ErrorCode.WRONG_STATE;
    } catch (InterruptedException e) {
      return false;
    }
  }

  /** Lasts ten ticks. */
  private static boolean isQuiet(Exec exec) throws InterruptedException {
    long size = exec.stdout().size();
    return !exec.stdout().await(size, Deadline.in(Duration.ofMillis(100)));
  }

  @Test
  void aCommandOfAPausedBoxCanBeKilled() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box box = bench.box();
    Exec exec = bench.start(box, sh("trap '' TERM; echo ready; sleep 1000"));
    awaitOutput(exec, "ready");
    box.pause();
    assertThat(exec.killAndAwait(Duration.ofMillis(50)).cause())
        .isEqualTo(new Killed(new Exit(0, 9)));
    box.resume();
    assertThat(bench.run(box, sh("true")).cause()).isEqualTo(new ExitCause.Exited(0));
  }

  @Test
  void aPausedBoxCanBeReleased() throws Exception {
    TestHost.require(Feature.CGROUPS);
    Box box = bench.box();
    Exec exec = bench.start(box, sh(TICKER));
    box.pause();
    assertThat(bench.engine().release(box).isClean()).isTrue();
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Killed(new Exit(0, 9)));
  }

  @Test
  void withoutCgroupsAPauseIsRefused() throws IOException {
    assumeTrue(bench.hasSubreapers(), "host lacks the want of cgroups, see ./test --none");
    Box box = bench.box();
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(box::pause)
        .withMessage("a box can be paused only where there are cgroups: ebb doctor")
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED));
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
  }

  @Test
  void aBoxWithAKilledInitIsLostAndThenReleased() throws Exception {
    List<BoxState> states = Collections.synchronizedList(new ArrayList<>());
    var engine = bench.engine();
    Box box = engine.create(engine.newId(), BoxSpec.defaults(), states::add);
    Exec exec = bench.start(box, sh("echo ready; exec sleep 1000"));
    awaitOutput(exec, "ready");
    ProcessRef.of(box.footprint().initPid()).orElseThrow().signal(Signal.KILL);
    eventually().until(() -> box.state() == BoxState.LOST);
    assertThat(Workbench.await(exec).cause()).isEqualTo(new ExitCause.Lost());
    assertThat(engine.release(box).isClean()).isTrue();
    assertThat(states)
        .containsExactly(BoxState.RUNNING, BoxState.LOST, BoxState.STOPPING, BoxState.GONE);
  }

  @Test
  void theOutputOfAStoppedBoxIsReadableUntilItIsForgotten() throws Exception {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("echo words"));
    Workbench.await(exec);
    assertThat(bench.engine().stop(box).isClean()).isTrue();
    assertThat(Workbench.text(exec.stdout())).isEqualTo("words\n");
    bench.engine().forget(box);
    assertThat(bench.engine().holdings())
        .noneMatch(holding -> holding.box().equals(box.id().value()));
  }
}
