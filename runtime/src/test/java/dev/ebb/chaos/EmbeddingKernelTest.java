package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Mount;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An application with children of its own beside the engine. */
@Tag("kernel")
@LeakChecked
class EmbeddingKernelTest {
  private static final int PROCESSES = 200;
  private static final int RUNS = 50;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @Test
  void noExitOfTheApplicationsProcessesIsStolenAndItsOrphansAreReaped() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      var clean = new Host(engine);
      ProcessRef orphan = orphan();
      try (var threads = Executors.newFixedThreadPool(TestHost.atOnce(10))) {
        var processes = new ArrayList<Future<Integer>>();
        var runs = new ArrayList<Future<ExitCause>>();
        for (int i = 0; i < PROCESSES; i++) {
          processes.add(exit(threads, i));
          if (i % (PROCESSES / RUNS) == 0) {
            runs.add(run(threads, engine, i));
          }
        }
        for (int i = 0; i < PROCESSES; i++) {
          assertThat(processes.get(i).get()).isEqualTo(i);
        }
        for (int i = 0; i < RUNS; i++) {
          assertThat(runs.get(i).get()).isEqualTo(new ExitCause.Exited(i * PROCESSES / RUNS));
        }
      }
      Eventually.holds("the orphan is reaped", () -> !orphan.exists());
      clean.assertNoTrace();
    }
  }

  private static Future<Integer> exit(ExecutorService threads, int code) {
    return threads.submit(() -> new ProcessBuilder("sh", "-c", "exit " + code).start().waitFor());
  }

  /** One run; every third follows a set-up that fails, because then the reaper is busy. */
  private Future<ExitCause> run(ExecutorService threads, Engine engine, int code) {
    return threads.submit(
        () -> {
          if (code % 3 == 0) {
            var nowhere = BoxSpec.defaults().withMount(new Mount(host.home(), "/usr/no/way", true));
            assertThatThrownBy(() -> engine.create(nowhere)).isInstanceOf(SandboxException.class);
          }
          return engine.run(BoxSpec.defaults(), ExecSpec.of("sh", "-c", "exit " + code)).cause();
        });
  }

  /** A child of a child that has ended: this JVM has adopted it, and no code waits for it. */
  private static ProcessRef orphan() throws IOException, InterruptedException {
    Process shell = new ProcessBuilder("sh", "-c", "sleep 0.1 & echo $!").start();
    String pid = new String(shell.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    shell.waitFor();
    return ProcessRef.of(Integer.parseInt(pid.strip())).orElseThrow();
  }
}
