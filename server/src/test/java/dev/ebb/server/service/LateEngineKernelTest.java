package dev.ebb.server.service;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.process.ProcFs;
import dev.ebb.server.service.access.Caller;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A caller that waits gets what init has sent by then, however late the engine reads it. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class LateEngineKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(20));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP, Feature.CGROUPS);

  @Test
  void anEndIsKnownThoughThePollerIsLate() throws Exception {
    try (var engine = Engine.open(host.home());
        var boxes = TestRegistry.open(engine, host)) {
      var order = BoxOrder.of(BoxSpec.defaults());
      TenantBox box = boxes.create(Caller.OWNER, order, Optional.empty()).box();
      TenantExec exec = box.start(ExecSpec.of("sh", "-c", "read x; exit 3").withInput());
      exec.awaitStart();
      assertEndIsKnown(box, exec);
    }
  }

  private static void assertEndIsKnown(TenantBox box, TenantExec exec) throws Exception {
    var isLate = new CountDownLatch(1);
    var gate = new CompletableFuture<Boolean>();
    try {
      box.box()
          .execSite()
          .poller()
          .execute(
              () -> {
                isLate.countDown();
                gate.join();
              });
      assertThat(isLate.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
      exec.feed("x\n".getBytes(US_ASCII), box.claim());
      await().atMost(PATIENCE).until(() -> hasTold(box.box()));
      var known = new FutureTask<>(() -> exec.awaitSurely(Duration.ZERO).isPresent());
      Thread waiter = Thread.ofPlatform().start(known);
      await()
          .atMost(PATIENCE)
          .until(() -> known.isDone() || waiter.getState() == Thread.State.TIMED_WAITING);
      gate.complete(true);
      assertThat(known.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    } finally {
      gate.complete(true);
    }
  }

  /** The command is gone, and init, which has reported that, waits for the next event. */
  private static boolean hasTold(Box box) throws Exception {
    int init = box.footprint().initPid();
    return box.footprint().pids().equals(List.of(init))
        && ProcFs.stat(init).filter(stat -> stat.state() == 'S').isPresent();
  }
}
