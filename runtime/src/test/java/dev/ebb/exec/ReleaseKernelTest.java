package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.sh;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A box is released under whatever runs in it, and waiting callers get a result. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class ReleaseKernelTest {
  @RegisterExtension final Workbench bench = new Workbench();

  @ParameterizedTest
  @EnumSource
  void aBoxIsReleasedUnderAnyTree(Unruly tree) throws IOException, InterruptedException {
    Box box = bench.box(tree.limits());
    Exec exec = bench.start(box, tree.spec());
    awaitOutput(exec, "ready");

    Certificate certificate = bench.engine().release(box);

    assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
    assertThat(certificate.released().get(Kind.PROCESS)).isGreaterThan(tree.members(bench));
    assertThat(box.state()).isEqualTo(BoxState.GONE);
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Killed(new Exit(0, 9)));
  }

  /** A mount on it keeps a directory from being removed. */
  @Test
  void aFailureInOneBoxDoesNotStopTheReleaseOfOthers() throws Exception {
    TestHost.require(Feature.ROOT);
    Path home = bench.home();
    Engine engine = Engine.open(home);
    Box stopped = engine.create(BoxSpec.defaults());
    Workbench.await(engine.start(stopped, sh("head -c 100000 /dev/zero")));
    assertThat(engine.stop(stopped).isClean()).isTrue();
    Box other = engine.create(BoxSpec.defaults());
    awaitOutput(engine.start(other, sh("echo ready; exec sleep 1000")), "ready");
    Path logs;
    try (var below = Files.walk(home)) {
      logs = below.filter(path -> path.endsWith(stopped.id().value())).findFirst().orElseThrow();
    }
    run("mount", "-t", "tmpfs", "ebb-test", logs.toString());
    try {
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(engine::close)
          .withMessageContaining("left for the next sweep")
          .withMessageContaining(stopped.id().value());
      assertThat(other.state()).isEqualTo(BoxState.GONE);
      assertThat(other.footprint().pids()).isEmpty();
    } finally {
      run("umount", logs.toString());
    }
    Engine.open(home).close();
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  @Test
  void releasingABoxAgainGivesTheSameCertificate() throws IOException {
    Box box = bench.box();
    Certificate certificate = bench.engine().release(box);
    assertThat(bench.engine().release(box)).isSameAs(certificate);
  }

  @Test
  void aBoxIsReleasedUnderACommandThatTakesInput() throws IOException {
    Box box = bench.box();
    Exec exec = bench.start(box, sh("echo ready; cat").withInput());
    awaitOutput(exec, "ready");
    Certificate certificate = bench.engine().release(box);
    assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
  }

  /** With the last words of init still unread when the box is gone. */
  @Test
  void aWaitForAFloodEndsWithItsBox()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    for (int i = 0; i < 30; i++) {
      Box box = bench.box();
      Exec exec = bench.start(box, sh("while :; do echo more; done"));
      awaitOutput(exec, "more");
      var waiting = new FutureTask<>(exec::await);
      Thread.ofVirtual().name("waiter").start(waiting);
      assertThat(bench.engine().release(box).isClean()).isTrue();
      assertThat(waiting.get(30, SECONDS).cause()).isEqualTo(new Killed(new Exit(0, 9)));
    }
  }

  @Test
  void aStartThatMeetsTheEndOfItsBoxIsRefusedOrKilled()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    for (int i = 0; i < 20; i++) {
      Box box = bench.box();
      var releasing = new FutureTask<>(() -> bench.engine().release(box));
      Thread.ofVirtual().name("releaser").start(releasing);
      startUntilRefused(box);
      assertThat(releasing.get(30, SECONDS).isClean()).isTrue();
    }
  }

  /** A start that began before the end may get so far only when the cgroups are removed. */
  @Test
  void noPlaceForACommandIsMadeWhileTheCgroupsAreRemoved()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    for (int i = 0; i < 10; i++) {
      Box box = bench.box();
      var releasing = new FutureTask<>(() -> bench.engine().release(box));
      Thread.ofVirtual().name("releaser").start(releasing);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(
              () -> {
                while (true) {
                  int exec = box.execSite().nextNumber();
                  box.execSite().lane().startBesideOthers(places -> places.leaf(exec));
                }
              })
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));
      assertThat(releasing.get(30, SECONDS).isClean()).isTrue();
    }
  }

  private void startUntilRefused(Box box) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () -> {
              while (true) {
                Exec exec = bench.start(box, sh("exec sleep 1000").withInput());
                exec.kill(Duration.ZERO);
              }
            })
        .satisfies(e -> assertThat(e.code()).isIn(ErrorCode.WRONG_STATE, ErrorCode.SETUP_FAILED));
  }

  @Test
  void closingTheEngineReleasesAllItsBoxes() throws IOException, InterruptedException {
    Exec one = bench.start(bench.box(), sh("exec sleep 1000"));
    Exec other = bench.start(bench.box(), sh("sleep 1000 & sleep 1000"));
    bench.engine().close();
    assertThat(Workbench.await(one).cause()).isInstanceOf(Killed.class);
    assertThat(Workbench.await(other).cause()).isInstanceOf(Killed.class);
    assertThat(bench.engine().holdings()).isEmpty();
  }
}
