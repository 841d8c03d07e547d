package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.model.Holding;
import dev.ebb.server.service.access.Caller;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How long an ended box is remembered: by the engine that saw it end, and by a later one. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class HistoryKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));
  private static final Duration LONG = Duration.ofDays(1);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  /** Makes and ends boxes; returns their ids in order. */
  private static List<String> end(BoxRegistry boxes, int count) throws Exception {
    var ids = new ArrayList<String>();
    for (int i = 0; i < count; i++) {
      BoxOrder order = TestRegistry.order(Optional.empty(), true);
      TenantBox box = boxes.create(Caller.OWNER, order, Optional.empty()).box();
      assertThat(box.end(Duration.ZERO, EndedBy.REQUEST).isClean()).isTrue();
      ids.add(box.id());
    }
    return ids;
  }

  private static List<String> listed(BoxRegistry boxes) {
    return boxes.list(Caller.OWNER).stream().map(TenantBox::id).toList();
  }

  private static Set<String> held(Engine engine) {
    return engine.holdings().stream()
        .map(Holding::box)
        .filter(box -> !box.isEmpty() && !box.equals("forkserver"))
        .collect(Collectors.toSet());
  }

  private static void awaitOnly(Engine engine, BoxRegistry boxes, List<String> kept) {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              assertThat(listed(boxes)).isEqualTo(kept);
              assertThat(held(engine)).containsExactlyInAnyOrderElementsOf(kept);
            });
  }

  @Test
  void aRunningEngineForgetsTheOldest() throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = TestRegistry.open(engine, host, new History(2, LONG))) {
      awaitOnly(engine, boxes, end(boxes, 5).subList(3, 5));
    }
    forgetAll();
  }

  @Test
  void theNextEngineForgetsTheOldest() throws Exception {
    List<String> ended;
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = TestRegistry.open(engine, host, History.ALL)) {
      ended = end(boxes, 5);
    }
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = TestRegistry.open(engine, host, new History(2, LONG))) {
      assertThat(listed(boxes)).isEqualTo(ended.subList(3, 5));
      awaitOnly(engine, boxes, ended.subList(3, 5));
    }
    forgetAll();
  }

  /** Forgets all boxes for their age, and asserts that nothing is left. */
  private void forgetAll() throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = TestRegistry.open(engine, host, new History(100, Duration.ZERO))) {
      awaitOnly(engine, boxes, List.of());
    }
  }
}
