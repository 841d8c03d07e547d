package dev.ebb.engine;

import static dev.ebb.engine.Prober.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Init keeps the deadlines; should a box find a way to stop it, the engine does. */
@Tag("kernel")
@Tag("long")
@LeakChecked
@Timeout(120)
final class LateInitKernelTest {
  /** Longer than the engine waits for init, by far less than it waits twice. */
  private static final Duration BEFORE_THE_ENGINE_GIVES_UP = Duration.ofSeconds(10);

  @RegisterExtension final Prober prober = new Prober();

  @Test
  void aCommandOutOfTimeIsEndedWhileInitStandsStill() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    var limited = sh("sleep 1000").withTimeout(Duration.ofMillis(100)).withGrace(Duration.ZERO);
    try (Exec exec = prober.engine().start(box, limited)) {
      int init = stop(box);
      assertThat(exec.await(BEFORE_THE_ENGINE_GIVES_UP)).as("init's word").isEmpty();
      assertThat(box.footprint().pids()).as("processes beside init").containsExactly(init);
      signal("CONT", init);
      assertThat(exec.await().cause()).isInstanceOf(ExitCause.TimedOut.class);
    }
  }

  @Test
  void aCommandIsKilledWhileInitStandsStill() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    try (Exec exec = prober.engine().start(box, sh("sleep 1000"))) {
      int init = stop(box);
      assertThat(exec.killAndAwait(Duration.ZERO).cause()).isEqualTo(new ExitCause.Lost());
      assertThat(box.footprint().pids()).containsExactly(init);
    }
  }

  private static int stop(Box box) throws IOException, InterruptedException {
    int init = box.footprint().pids().stream().min(Integer::compare).orElseThrow();
    signal("STOP", init);
    return init;
  }

  /** From outside its namespace even pid 1 can be stopped. */
  private static void signal(String name, int pid) throws IOException, InterruptedException {
    Prober.run(List.of("kill", "-s", name, Integer.toString(pid)));
  }
}
