package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.model.ExecSpec;
import dev.ebb.oracle.Trace;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.Snapshot;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The control for all others: what a command leaves is detected as long as it exists. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class LeakControlKernelTest {
  @RegisterExtension final Workbench bench = new Workbench();

  private static List<String> withCgroups(String... kinds) {
    return Feature.CGROUPS.isPresent() ? List.of(kinds) : List.of();
  }

  @Test
  void aBoxThatIsNotReleasedIsALeak() throws IOException {
    // Processes that make boxes stay with the engine.
    bench.engine().release(bench.box());
    bench.engine().release(bench.box());
    var before = Snapshot.take();
    Box box = bench.box();
    assertThat(before.leaksSince())
        .extracting(Trace::kind)
        .contains("process", "ledger line", "socket descriptor")
        .containsAll(withCgroups("cgroup"));
    bench.engine().release(box);
    before.assertNoLeaks();
  }

  @Test
  void anEngineThatIsNotClosedIsALeak() throws IOException {
    var before = Snapshot.take();
    bench.engine();
    assertThat(before.leaksSince())
        .extracting(Trace::kind)
        .contains("directory", "thread", "eventpoll descriptor")
        .containsAll(withCgroups("cgroup", "ledger line"));
    bench.engine().close();
    before.assertNoLeaks();
  }

  @Test
  void aCommandThatIsNotKilledIsALeakAndAKilledOneIsNone() throws Exception {
    Box box = bench.box();
    box.execSite().directory().make();
    var before = Snapshot.take();
    Exec exec =
        bench.start(
            box, python("import time; print('ready' * 2000, flush=True); time.sleep(1000)"));
    awaitOutput(exec, "ready".repeat(2000));
    List<String> leaks = before.leaksSince().stream().map(Trace::toString).toList();
    assertThat(leaks)
        .anyMatch(trace -> trace.startsWith("process: ") && trace.contains("time.sleep(1000)"))
        .anyMatch(trace -> trace.startsWith("file: ") && trace.endsWith("1.stdout"));
    if (Feature.CGROUPS.isPresent()) {
      assertThat(leaks)
          .anyMatch(trace -> trace.startsWith("cgroup: ") && trace.contains("/work/1"));
    }
    exec.killAndAwait(Duration.ZERO);
    exec.close();
    before.assertNoLeaks();
  }

  @Test
  void aDaemonThatIsKeptIsALeakAndAReleasedOneIsNot() throws IOException, InterruptedException {
    Box box = bench.box();
    var before = Snapshot.take();
    run(box, sh("sleep 1000 &"));
    before.assertNoLeaks();
    run(box, sh("sleep 1000 &").withKeep());
    assertThat(before.leaksSince())
        .extracting(Trace::toString)
        .anyMatch(trace -> trace.startsWith("process: ") && trace.contains("sleep 1000"));
  }

  private void run(Box box, ExecSpec spec) throws IOException, InterruptedException {
    try (Exec exec = bench.start(box, spec)) {
      Workbench.await(exec);
    }
  }
}
