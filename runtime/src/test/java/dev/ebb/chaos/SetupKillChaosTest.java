package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** SIGKILL of each process that makes a box, while it is being made. */
@Tag("kernel")
@LeakChecked
class SetupKillChaosTest {
  private static final int MOST = 200;

  /** A little more than a set-up takes, so that some kills come too late. */
  private static final Duration SETUP = Duration.ofMillis(25);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  /** A box that only bwrap can make. */
  private static final BoxSpec BY_BWRAP =
      BoxSpec.defaults().withFile(new CopiedFile(Path.of("/etc/passwd"), "/workspace/copied"));

  int rounds() {
    return 25;
  }

  /** Finds the processes to kill, if they exist by now. */
  private interface Victims {
    List<ProcessRef> find(Host host) throws IOException, KernelException;
  }

  @Test
  void killingTheOutsideRoleFailsTheCreateAndLeavesNothing() throws Exception {
    killDuringSetup("outside", host -> outsides());
  }

  @Test
  void killingBwrapsOuterProcessFailsTheCreateAndLeavesNothing() throws Exception {
    killDuringSetup("bwrap outer", host -> members(host, false));
  }

  @Test
  void killingTheFutureInitFailsTheCreateAndLeavesNothing() throws Exception {
    killDuringSetup("bwrap inner", host -> members(host, true));
  }

  @Test
  void killingAllThatMakeABoxFailsTheCreateAndLeavesNothing() throws Exception {
    killDuringSetup(
        "outside and bwrap",
        host -> {
          var all = new ArrayList<>(outsides());
          all.addAll(host.members());
          return all;
        });
  }

  private static List<ProcessRef> outsides() throws IOException {
    return Kin.outsides((int) ProcessHandle.current().pid());
  }

  /** The processes of the box with a parent that is, or is not, in the box too. */
  private static List<ProcessRef> members(Host host, boolean withParent)
      throws IOException, KernelException {
    List<ProcessRef> members = host.members();
    List<Integer> pids = members.stream().map(ProcessRef::pid).toList();
    return members.stream()
        .filter(m -> Kin.parent(m.pid()).filter(p -> pids.contains(p) == withParent).isPresent())
        .toList();
  }

  private void killDuringSetup(String name, Victims victims) throws Exception {
    Chance chance = Chance.of(name);
    int failures = 0;
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      // On a quick host most kills come too late: it goes on until one does not.
      for (int round = 0; round < rounds() || (failures == 0 && round < MOST); round++) {
        Optional<SandboxException> failure = round(engine, clean, victims, chance);
        failures += failure.isPresent() ? 1 : 0;
        clean.assertNoTrace();
        assertThat(engine.run(BY_BWRAP, ExecSpec.of("true")).cause())
            .isEqualTo(new ExitCause.Exited(0));
        clean.assertNoTrace();
      }
    }
    assertThat(failures).as("rounds in which the kill hit the set-up").isPositive();
  }

  /** Makes a box while the victims are killed, and releases it if it was made nevertheless. */
  private static Optional<SandboxException> round(
      Engine engine, Host clean, Victims victims, Chance chance) throws Exception {
    var made = new AtomicBoolean();
    var killing =
        new FutureTask<>(
            () -> {
              await(victims, clean, made);
              chance.pause(SETUP);
              for (ProcessRef victim : victims.find(clean)) {
                victim.signal(Signal.KILL);
              }
              return true;
            });
    Thread killer = Thread.ofPlatform().name("killer").start(killing);
    try {
      Box box = engine.create(BY_BWRAP);
      made.set(true);
      killing.get();
      assertThat(engine.release(box).isClean()).isTrue();
      return Optional.empty();
    } catch (SandboxException e) {
      assertThat(e.code()).isEqualTo(ErrorCode.SETUP_FAILED);
      assertThat(e).hasMessageMatching("the box could not be made: .+");
      return Optional.of(e);
    } finally {
      made.set(true);
      killer.join();
      killing.get();
    }
  }

  private static void await(Victims victims, Host host, AtomicBoolean made)
      throws IOException, KernelException {
    while (victims.find(host).isEmpty() && !made.get()) {
      Thread.onSpinWait();
    }
  }
}
