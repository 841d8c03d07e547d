package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.box.Strangers;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.LogCapture;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A process from outside in a cgroup of a box is not killed without a word. */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class StrangersKernelTest {
  @RegisterExtension
  final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP, Feature.CGROUPS);

  private LogCapture log;
  private Process stranger;

  @BeforeEach
  void start() throws IOException {
    log = new LogCapture(Strangers.class);
    stranger = new ProcessBuilder("sleep", "1000").start();
  }

  @AfterEach
  void end() throws InterruptedException {
    log.close();
    stranger.destroyForcibly().waitFor();
  }

  private void enter(Cgroup cgroup) throws IOException {
    Files.writeString(cgroup.path().resolve("cgroup.procs"), Long.toString(stranger.pid()));
  }

  private void assertReported(Engine engine, String where) throws InterruptedException {
    assertThat(stranger.waitFor()).isEqualTo(128 + 9);
    assertThat(engine.strangers()).isEqualTo(1);
    assertThat(log.lines())
        .singleElement()
        .asString()
        .contains("event=stranger_killed", "reason=\"in the cgroup of the " + where + "\"");
  }

  @Test
  void inTheLeafOfACommandThatEnds() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Exec exec = engine.start(box, sh("echo ready; read line").withInput());
      awaitOutput(exec, "ready");
      enter(Workbench.cgroup(box).leaf(1));
      exec.stdin().orElseThrow().close();
      assertThat(Workbench.await(exec).leftovers().count()).isEqualTo(1);
      assertReported(engine, "command");
    }
  }

  @Test
  void inTheLeafOfACommandThatIsKilled() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Exec exec = engine.start(box, sh("echo ready; exec sleep 1000"));
      awaitOutput(exec, "ready");
      enter(Workbench.cgroup(box).leaf(1));
      exec.killAndAwait(Duration.ZERO);
      assertReported(engine, "command");
    }
  }

  @Test
  void inTheCgroupOfAnIdleBox() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      enter(Workbench.cgroup(box).init());
      assertThat(engine.release(box).isClean()).isTrue();
      assertReported(engine, "box");
    }
  }

  @Test
  void inTheLeafOfACommandThatTheEngineKillsItself() throws Exception {
    Duration usual = Exec.ladderSlack;
    Exec.ladderSlack = Duration.ofMillis(200);
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Exec exec = engine.start(box, sh("echo ready; exec sleep 1000"));
      awaitOutput(exec, "ready");
      enter(Workbench.cgroup(box).leaf(1));
      var init = ProcessRef.of(box.footprint().initPid()).orElseThrow();
      init.signal(Signal.STOP);
      exec.kill(Duration.ZERO);
      Thread waiting = Thread.ofVirtual().start(() -> awaitQuietly(exec));
      assertReported(engine, "command");
      init.signal(Signal.CONT);
      waiting.join();
      assertThat(engine.release(box).isClean()).isTrue();
      assertThat(engine.strangers()).as("reported once").isEqualTo(1);
    } finally {
      Exec.ladderSlack = usual;
    }
  }

  private static void awaitQuietly(Exec exec) {
    try {
      Workbench.await(exec);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void inALeafThatASweepRemoves() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = engine.create(BoxSpec.defaults());
      Cgroup stray = Cgroup.create(Workbench.cgroup(box).leaf(777).path());
      enter(stray);
      assertThat(engine.audit(false)).hasSize(1);
      assertReported(engine, "box");
      assertThat(log.lines()).singleElement().asString().contains("box=" + box.id() + " ");
    }
  }
}
