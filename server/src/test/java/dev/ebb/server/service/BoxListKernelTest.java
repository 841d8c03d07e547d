package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.engine.Engine;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.TenantMemory;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Tag("kernel")
@LeakChecked
@Timeout(60)
final class BoxListKernelTest {
  private static final int BOXES = 50;
  private static final int LISTINGS = 20_000;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final BoxList list = new BoxList();

  private void addAndRemove(List<TenantBox> boxes, AtomicBoolean isOver) {
    while (!isOver.get()) {
      boxes.forEach(list::add);
      boxes.forEach(box -> list.remove(box.id()));
    }
  }

  @Test
  void boxesAreListedWhileOthersComeAndGo() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      var facilities =
          new Facilities(
              engine, new Events(Instant.now()), new Metrics(), new TenantMemory(1 << 20), false);
      var note =
          new BoxNote(
              "owner",
              TestRegistry.order(Optional.empty(), false),
              Instant.now(),
              Optional.empty());
      List<TenantBox> boxes =
          Stream.generate(() -> new TenantBox(facilities, note, Optional.empty()))
              .limit(BOXES)
              .toList();
      var isOver = new AtomicBoolean();
      var others = CompletableFuture.runAsync(() -> addAndRemove(boxes, isOver));
      try {
        for (int i = 0; i < LISTINGS; i++) {
          assertThat(list.all(ended -> boxes.getFirst())).hasSizeLessThanOrEqualTo(BOXES);
        }
      } finally {
        isOver.set(true);
        others.get(10, TimeUnit.SECONDS);
      }
    }
  }
}
