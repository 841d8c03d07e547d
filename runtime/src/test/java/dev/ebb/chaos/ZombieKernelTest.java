package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Limits;
import dev.ebb.process.ProcFs;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Zombies made in a box, and by the making of boxes, never reach the host. */
@Tag("kernel")
@LeakChecked
class ZombieKernelTest {
  private static final int ZOMBIES = 10_000;

  /** Forks and never waits, prints a line when it is done, and then ends or does not. */
  private static final String FORKER =
      """
      import os, sys, time
      for i in range(%d):
          if os.fork() == 0:
              os._exit(0)
      print("forked", flush=True)
      if sys.argv[1] == "stay":
          time.sleep(1000)
      """
          .formatted(ZOMBIES);

  private static final BoxSpec ROOMY =
      BoxSpec.defaults().withLimits(Limits.defaults().withPids(ZOMBIES + 100));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @Test
  void tenThousandZombiesOfACommandThatEndsAreReapedInTheBox() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      Box box = engine.create(ROOMY);
      Exec exec = engine.start(box, ExecSpec.of("python3", "-c", FORKER, "end"));
      assertThat(exec.await().cause()).isEqualTo(new ExitCause.Exited(0));
      assertThat(exec.stdout().size()).isEqualTo("forked\n".length());
      int init = box.footprint().initPid();
      assertThat(ProcFs.children()).as("what reached us").containsExactly(init);
      Eventually.holds("init has reaped them", () -> Kin.children(init).isEmpty());
      assertThat(engine.release(box).isClean()).isTrue();
      clean.assertNoTrace();
    }
  }

  @Test
  void tenThousandZombiesOfACommandThatIsKilledGoWithIt() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      Box box = engine.create(ROOMY);
      Exec exec = engine.start(box, ExecSpec.of("python3", "-c", FORKER, "stay"));
      exec.awaitOutput(0, 0);
      int forker = exec.pids().getFirst();
      assertThat(Kin.children(forker)).hasSize(ZOMBIES);
      assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(ExitCause.Killed.class);
      assertThat(engine.release(box).isClean()).isTrue();
      clean.assertNoTrace();
    }
  }

  @Test
  void aRuntimeThatIsPid1HasNoZombieAfterFortyRuns() throws Exception {
    runAsFirstProcess(40);
  }

  @Test
  @Tag("long")
  void aRuntimeThatIsPid1HasNoZombieAfterTwoHundredRuns() throws Exception {
    runAsFirstProcess(200);
  }

  private void runAsFirstProcess(int runs) throws Exception {
    var unshare =
        new ArrayList<>(List.of("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"));
    if (!Feature.ROOT.isPresent()) {
      unshare.addAll(List.of("--user", "--map-current-user"));
    }
    try (ChildJvm jvm =
        ChildJvm.startUnder(
            unshare, FirstProcess.class, host.home().toString(), Integer.toString(runs))) {
      jvm.awaitLine("closed");
      assertThat(jvm.awaitExit()).isZero();
      assertThat(jvm.lines())
          .containsExactly(
              "zombies []", "processes 1", "descriptors same", "busy cgroups 0", "closed");
    }
  }
}
