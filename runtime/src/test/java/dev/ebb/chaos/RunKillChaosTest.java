package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** SIGKILL of init, and of a command, while the command starts or runs. */
@Tag("kernel")
@LeakChecked
class RunKillChaosTest {
  /** From before the command's exec(2) until after its children are there. */
  private static final Duration LIFE = Duration.ofMillis(10);

  private static final ExecSpec COMMAND =
      ExecSpec.of("/bin/sh", "-c", "setsid sleep 1000 & (sleep 1000 &) ; sleep 1000");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  int rounds() {
    return 25;
  }

  @Test
  void killingInitLosesTheCommandAndLeavesNothing() throws Exception {
    Chance chance = Chance.of("init");
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      for (int round = 0; round < rounds(); round++) {
        Box box = engine.create(BoxSpec.defaults());
        ProcessRef init = ProcessRef.of(box.footprint().initPid()).orElseThrow();
        Exec first = engine.start(box, COMMAND);
        Exec second = engine.start(box, COMMAND);
        chance.pause(LIFE);
        assertThat(init.signal(Signal.KILL)).isTrue();

        assertThat(await(first).cause()).isEqualTo(new ExitCause.Lost());
        assertThat(await(second).cause()).isEqualTo(new ExitCause.Lost());
        assertThat(engine.release(box).isClean()).isTrue();
        clean.assertNoTrace();
      }
    }
  }

  @Test
  void killingTheCommandIsItsExitCauseAndTheBoxRunsOn() throws Exception {
    Chance chance = Chance.of("command");
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      Box box = engine.create(BoxSpec.defaults());
      for (int round = 0; round < rounds(); round++) {
        Exec exec = engine.start(box, COMMAND);
        ProcessRef command = Eventually.find(Eventually.SOON, () -> leader(exec)).orElseThrow();
        chance.pause(LIFE);
        assertThat(command.signal(Signal.KILL)).isTrue();

        assertThat(await(exec).cause()).isEqualTo(new ExitCause.Signalled(Signal.KILL.number()));
        assertThat(box.footprint().pids()).hasSize(1);
        exec.close();
      }
      assertThat(await(engine.start(box, ExecSpec.of("true"))).cause())
          .isEqualTo(new ExitCause.Exited(0));
      assertThat(engine.release(box).isClean()).isTrue();
      clean.assertNoTrace();
    }
  }

  /** The process of an exec with a parent that is not part of it. */
  private static Optional<ProcessRef> leader(Exec exec) {
    List<Integer> tree = exec.pids();
    return tree.stream()
        .filter(pid -> Kin.parent(pid).filter(parent -> !tree.contains(parent)).isPresent())
        .flatMap(pid -> Kin.living(pid).stream())
        .findFirst();
  }

  private static ExecResult await(Exec exec) throws InterruptedException {
    return exec.await(Eventually.SOON).orElseThrow(() -> new AssertionError("never ended"));
  }
}
