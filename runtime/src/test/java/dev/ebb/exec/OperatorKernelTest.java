package dev.ebb.exec;

import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.Limits;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An operator gets in where the workload has taken everything. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class OperatorKernelTest {
  private static final String CROWD =
      """
      import os, time
      try:
          while True:
              if os.fork() == 0:
                  time.sleep(1000)
      except OSError:
          os.write(1, b"full")
      while True:
          try:
              if os.fork() == 0:
                  time.sleep(1000)
          except OSError:
              time.sleep(0.001)
      """;

  @RegisterExtension final Workbench bench = new Workbench();

  @Test
  void aFullBoxTakesAnOperatorsCommandsAndNoOthers() throws Exception {
    Box box = bench.box(Limits.defaults().withPids(16));
    Exec crowd = bench.start(box, python(CROWD));
    awaitOutput(crowd, "full");
    requireRefused(box);

    var look = sh("ls /proc | grep -c '^[0-9]'; kill -9 -1").withOperator();
    for (int i = 0; i < 3; i++) {
      ExecResult seen = bench.run(box, sh("ls /proc | grep -c '^[0-9]'").withOperator());
      assertThat(seen.cause()).isEqualTo(new Exited(0));
    }
    requireRefused(box);
    assertThat(crowd.pids()).as("the workload goes on").hasSizeGreaterThanOrEqualTo(15);

    Exec ender = bench.start(box, look);
    Workbench.await(ender);
    assertThat(Integer.parseInt(Workbench.text(ender.stdout()).strip())).isGreaterThan(16);
    Workbench.await(crowd);
    assertThat(bench.run(box, sh("true | true")).cause()).as("room again").isEqualTo(new Exited(0));
  }

  /** The command may start, but then it cannot fork. */
  private void requireRefused(Box box) throws InterruptedException {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> bench.run(box, sh("true | true")))
        .withMessageContaining("EAGAIN");
  }

  @Test
  void aCommandThatEndsWhileInitIsInTheLaneLeavesNothing() throws IOException {
    Box box = bench.box();
    bench.start(box, sh("exec sleep 1000").withOperator());
    bench.start(box, sh("exec sleep 1000"));
    assertThat(bench.engine().release(box).isClean()).isTrue();
  }

  @Test
  void memoryThatIsUsedUpKeepsNoOperatorOut() throws Exception {
    Box box = bench.box(Limits.defaults().withMemory(ByteSize.mebibytes(64)));
    Exec eater =
        bench.start(
            box,
            python(
                "import os, time; x = b'x' * (50 << 20); os.write(1, b'full'); time.sleep(1000)"));
    awaitOutput(eater, "full");
    ExecResult seen =
        bench.run(box, sh("head -c 4000000 /dev/zero | tail -c 1 | wc -c").withOperator());
    assertThat(seen.cause()).isEqualTo(new Exited(0));
    assertThat(eater.pids()).hasSize(1);
    assertThat(eater.killAndAwait(Duration.ZERO).cause().status()).isEqualTo("killed");
  }
}
