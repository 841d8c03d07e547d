package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.server.service.access.Caller;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The retention of the output of commands, with clients that read it and without. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class KeptOutputKernelTest {
  private static final int KEPT = 100;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final CountDownLatch done = new CountDownLatch(1);
  private final List<Thread> readers = new ArrayList<>();
  private Engine engine;
  private BoxRegistry boxes;
  private TenantBox box;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
    boxes = TestRegistry.open(engine, host);
    var order = BoxOrder.of(BoxSpec.defaults());
    box = boxes.create(Caller.OWNER, order, Optional.empty()).box();
  }

  @AfterEach
  void close() throws InterruptedException {
    done.countDown();
    for (Thread reader : readers) {
      reader.join();
    }
    boxes.close();
    engine.close();
  }

  private TenantExec run() throws InterruptedException {
    TenantExec exec = box.start(ExecSpec.of("true"));
    assertThat(exec.await(Duration.ofSeconds(30))).isPresent();
    return exec;
  }

  /** A client begins to read it, and goes on until the test is over. */
  private void read(TenantExec exec) throws InterruptedException {
    var begun = new CountDownLatch(1);
    readers.add(
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    exec.read(
                        () -> {
                          begun.countDown();
                          done.await();
                        });
                  } catch (IOException e) {
                    throw new IllegalStateException(e);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
    begun.await();
  }

  @Test
  void outputThatIsReadIsSparedWhenMemoryIsShort() throws Exception {
    TenantExec first = run();
    read(first);
    run();
    box.forgetEnded();
    assertThat(box.execs()).containsExactly(first);
  }

  /** The beginning of an ended command is kept, and no environment. */
  @Test
  void keptOutputCountsForItsTenant() throws Exception {
    int length = 100_000;
    long before = boxes.memory().used(box.tenant());
    var spec = ExecSpec.of("sleep", "1000").withEnvironment(Map.of("X", "x".repeat(length)));
    TenantExec exec = box.start(spec);
    assertThat(boxes.memory().used(box.tenant())).isGreaterThan(before + length);
    exec.kill(Duration.ZERO);
    assertThat(exec.await(Duration.ofSeconds(30))).isPresent();
    assertThat(boxes.memory().used(box.tenant())).isLessThan(before + length / 2);
  }

  @Test
  @Tag("long")
  void clientsThatReadKeepNoMoreThanAHundredMore() throws Exception {
    TenantExec first = run();
    read(first);
    for (int i = 1; i < KEPT; i++) {
      read(run());
    }
    for (int i = 0; i < KEPT; i++) {
      read(run());
      assertThat(box.execs()).hasSize(KEPT + i + 1).contains(first);
    }
    run();
    assertThat(box.execs()).as("beyond the bound").hasSize(2 * KEPT).doesNotContain(first);
  }
}
