package dev.ebb.exec;

import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.python;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.Mount;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import dev.ebb.store.Home;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.Why;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.FrozenDisk;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A process that sleeps in the kernel where no signal reaches it. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class StuckKernelTest {
  private static final String WRITER =
      """
      import os
      fd = os.open("/data/file", os.O_CREAT | os.O_WRONLY)
      os.write(1, b"open")
      os.read(0, 1)
      os.write(fd, b"x" * 4096)
      """;

  @RegisterExtension
  final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP, Feature.LOOP_DEVICES);

  private FrozenDisk disk;
  private Path home;

  @BeforeEach
  void mount() throws Exception {
    disk = FrozenDisk.mount();
    home = host.home();
  }

  @AfterEach
  void unmount() throws Exception {
    disk.unmount();
  }

  private Exec writeAndFreeze(Engine engine, Box box) throws Exception {
    Exec exec = engine.start(box, python(WRITER).withInput().withTimeout(Duration.ZERO));
    Workbench.awaitOutput(exec, "open");
    disk.freeze();
    exec.stdin().orElseThrow().write(new byte[1], 0, 1);
    eventually()
        .until(
            () ->
                exec.pids().stream()
                    .anyMatch(pid -> ProcFs.stat(pid).orElseThrow().state() == 'D'));
    return exec;
  }

  private static BoxSpec spec(FrozenDisk disk) {
    return BoxSpec.defaults().withMount(new Mount(disk.path(), "/data", false));
  }

  @Test
  void theResultNamesAStuckProcessAndWhatHoldsIt() throws Exception {
    Engine engine = Engine.open(home);
    Box box = engine.create(spec(disk));
    Exec exec = writeAndFreeze(engine, box);
    int pid = exec.pids().getFirst();
    var cause = exec.killAndAwait(Duration.ZERO).cause();
    assertThat(cause).isInstanceOf(ExitCause.Stuck.class);
    assertThat(cause.status()).isEqualTo("stuck");
    assertThat(((ExitCause.Stuck) cause).processes())
        .singleElement()
        .satisfies(
            stuck -> {
              assertThat(stuck.pid()).isEqualTo(pid);
              assertThat(stuck.state()).isEqualTo('D');
              assertThat(stuck.waitChannel()).isNotEmpty().isNotEqualTo("0");
              assertThat(stuck.file()).isEqualTo("/data/file");
            });

    Certificate certificate = engine.release(box);
    assertThat(certificate.isClean()).isFalse();
    assertThat(certificate.stuck().getFirst().kind()).isEqualTo(Kind.PROCESS);
    assertThat(certificate.toString()).contains("state D", "on /data/file");
    assertThat(box.state()).isEqualTo(BoxState.STUCK);

    var why = new Why(Home.open(home)).explain(box.id().value()).orElseThrow();
    assertThat(why.reason()).contains("process " + pid + " sleeps in the kernel", "on /data/file");
    assertThat(new Why(Home.open(home)).explain(Integer.toString(pid))).contains(why);

    Box another = engine.create(BoxSpec.defaults());
    assertThat(another.footprint().uid())
        .as("the uid of a stuck box")
        .isNotEqualTo(box.footprint().uid());
    assertThat(engine.release(another).isClean()).isTrue();

    disk.thaw();
    eventually().until(() -> ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isEmpty());
    assertThat(engine.release(box).isClean()).as("released again after the thaw").isTrue();
    assertThat(box.state()).isEqualTo(BoxState.GONE);
    engine.close();
  }

  @Test
  void aProcessThatDiedAtLastIsNotCalledStuck() throws Exception {
    try (var engine = Engine.open(home)) {
      Exec exec = writeAndFreeze(engine, engine.create(spec(disk)));
      exec.kill(Duration.ZERO);
      eventually().until(() -> exec.stdout().isEnd("open".length()));
      assertThat(exec.pids()).as("what init gave up").isNotEmpty();
      disk.thaw();
      eventually().until(() -> exec.pids().isEmpty());
      assertThat(exec.await().cause())
          .isEqualTo(new ExitCause.Killed(new ExitCause.Exit(0, Signal.KILL.number())));
    }
  }

  @Test
  void aSweepAfterTheThawReleasesWhatAClosedEngineCouldNot() throws Exception {
    Engine engine = Engine.open(home);
    Box box = engine.create(spec(disk));
    Exec exec = writeAndFreeze(engine, box);
    int pid = exec.pids().getFirst();
    assertThatThrownBy(engine::close)
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("left for the next sweep")
        .hasMessageContaining("state D");

    assertThat(HomeTools.sweep(home, true)).extracting(Recovery.Finding::fate).isNotEmpty();
    List<Recovery.Finding> stuck = HomeTools.sweep(home, false);
    assertThat(stuck)
        .anySatisfy(
            finding ->
                assertThat(finding.fate())
                    .isInstanceOfSatisfying(
                        Recovery.Fate.Stuck.class,
                        fate -> assertThat(fate.reason()).contains("state D")));
    assertThat(ProcFs.stat(pid)).isPresent();

    disk.thaw();
    eventually().until(() -> ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isEmpty());
    assertThat(HomeTools.sweep(home, false))
        .noneMatch(finding -> finding.fate() instanceof Recovery.Fate.Stuck);
    assertThat(HomeTools.sweep(home, false)).isEmpty();
    TestHost.awaitOrphans();
  }
}
