package dev.ebb.exec;

import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The engine receives what init has sent before a clock of its own decides, however late it is. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class LatePollerKernelTest {
  private static final Duration SLACK = Duration.ofMillis(100);
  private static final Duration TIMEOUT = Duration.ofMillis(500);

  /** Longer than all that the engine waits. */
  private static final long LATE_MILLIS = 1200;

  @RegisterExtension final Workbench bench = new Workbench();

  private final Duration usual = Exec.ladderSlack;

  @BeforeEach
  void waitLess() {
    Exec.ladderSlack = SLACK;
  }

  @AfterEach
  void waitAsUsual() {
    Exec.ladderSlack = usual;
  }

  /** Blocks the poller for this long from when this returns. */
  private static void makeLate(Box box) throws KernelException, InterruptedException {
    var isLate = new CountDownLatch(1);
    box.execSite()
        .poller()
        .execute(
            () -> {
              isLate.countDown();
              try {
                Thread.sleep(LATE_MILLIS);
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    assertThat(isLate.await(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aCommandThatEndedInTimeIsReportedAsEnded() throws Exception {
    Box box = bench.box();
    for (int code : new int[] {0, 3, 137}) {
      var limited = sh("exit " + code).withTimeout(TIMEOUT).withGrace(Duration.ZERO);
      makeLate(box);
      Exec exec = bench.start(box, limited);
      assertThat(Workbench.await(exec).cause()).isEqualTo(new ExitCause.Exited(code));
    }
  }

  @Test
  void aCommandThatEndedWithinItsGraceIsReportedAsEnded() throws Exception {
    Box box = bench.box();
    Exec exec =
        bench.start(box, sh("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done"));
    Workbench.awaitOutput(exec, "ready");
    makeLate(box);
    assertThat(exec.killAndAwait(Duration.ofMillis(300)).cause())
        .isEqualTo(new ExitCause.Killed(new ExitCause.Exit(4, 0)));
  }

  @Test
  void aStartThatInitHasReportedIsKnown() throws Exception {
    Box box = bench.box();
    makeLate(box);
    Exec exec = bench.start(box, ExecSpec.of("sleep", "1000"));
    assertThat(exec.awaitStart(Duration.ofMillis(300))).isTrue();
    exec.killAndAwait(Duration.ZERO);
  }

  /** The safeguard is still there. Without cgroups it takes the box along. */
  @Test
  void aCommandThatInitDoesNotEndIsEnded() throws Exception {
    boolean isApart = Feature.CGROUPS.isPresent();
    Box box = bench.box();
    Exec exec = bench.start(box, ExecSpec.of("sleep", "1000"));
    assertThat(exec.awaitStart(Workbench.PATIENCE)).isTrue();
    int init = box.footprint().initPid();
    signal("STOP", init);
    try {
      assertThat(exec.killAndAwait(Duration.ZERO).cause()).isEqualTo(new ExitCause.Lost());
      assertThat(box.footprint().pids()).isEqualTo(isApart ? List.of(init) : List.of());
    } finally {
      if (isApart) {
        signal("CONT", init);
      }
    }
  }

  private static void signal(String name, int pid) throws IOException, InterruptedException {
    var kill = new ProcessBuilder("kill", "-s", name, Integer.toString(pid)).inheritIO().start();
    assertThat(kill.waitFor()).isZero();
  }
}
