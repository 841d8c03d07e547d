package dev.ebb.server.boxes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.BoxSpec;
import dev.ebb.engine.Engine;
import dev.ebb.exec.ExecSpec;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.access.Caller;
import dev.ebb.server.access.Quota;
import dev.ebb.server.access.Quotas;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.pressure.Entrance;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How long the output of ended commands is kept, with clients that read it and without. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class KeptOutputKernelTest {
  private static final int KEPT = 100;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final CountDownLatch done = new CountDownLatch(1);
  private final List<Thread> readers = new ArrayList<>();
  private Engine engine;
  private Boxes boxes;
  private ServedBox box;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
    boxes =
        new Boxes(
            engine,
            new Metrics(),
            Entrance.OPEN,
            new Quotas(host.home(), Quota.NONE),
            PoolPolicy.OFF);
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

  private ServedExec run() throws InterruptedException {
    ServedExec exec = box.start(ExecSpec.of("true"));
    assertThat(exec.await(Duration.ofSeconds(30))).isPresent();
    return exec;
  }

  /** A client begins to read it, and goes on until the test is over. */
  private void read(ServedExec exec) throws InterruptedException {
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
  void whatIsReadIsSparedWhenMemoryIsShort() throws Exception {
    ServedExec first = run();
    read(first);
    run();
    box.forgetEnded();
    assertThat(box.execs()).containsExactly(first);
  }

  @Test
  @Tag("long")
  void clientsThatReadKeepNoMoreThanAHundredMore() throws Exception {
    ServedExec first = run();
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
