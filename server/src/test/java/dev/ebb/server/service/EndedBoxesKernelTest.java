package dev.ebb.server.service;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.engine.Engine;
import dev.ebb.engine.History;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Boxes that end with their daemon: what is known of them afterwards, by this one and the next. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class EndedBoxesKernelTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private static BoxOrder named(String name) {
    return new BoxOrder(
        Optional.of(name),
        Map.of("colour", "red"),
        BoxSpec.defaults(),
        Optional.empty(),
        Optional.empty(),
        false,
        false);
  }

  private BoxRegistry open(Engine engine) throws Exception {
    return TestRegistry.open(engine, host, new History(10, Duration.ofDays(1)));
  }

  private static TenantBox make(BoxRegistry boxes, String name) throws Exception {
    return boxes.create(Caller.OWNER, named(name), Optional.empty()).box();
  }

  private static void run(TenantBox box, String... command) throws InterruptedException {
    assertThat(box.start(ExecSpec.of(command)).await(PATIENCE)).isPresent();
  }

  private static String stdout(TenantExec exec) {
    byte[] bytes = new byte[100];
    return new String(bytes, 0, exec.view().stdout().read(0, bytes), UTF_8);
  }

  /** The objects of a box that has ended. */
  private static List<WeakReference<Object>> endOne(BoxRegistry boxes) throws Exception {
    TenantBox box = make(boxes, "web");
    run(box, "sh", "-c", "echo words; exit 3");
    assertThat(boxes.stop(box, Duration.ZERO).isClean()).isTrue();
    return List.of(
        new WeakReference<>(box),
        new WeakReference<>(box.box()),
        new WeakReference<>(box.exec(1)),
        new WeakReference<>(box.exec(1).exec()));
  }

  @Test
  void anEndedBoxIsARecordAndItsObjectsAreGarbage() throws Exception {
    try (Engine engine = Engine.open(host.home());
        var boxes = open(engine)) {
      var objects = endOne(boxes);
      TenantBox seen = boxes.find(Caller.OWNER, "web");
      assertThat(seen.isPast()).isTrue();
      assertThat(seen.state()).isEqualTo(BoxState.GONE);
      assertThat(seen.endedBy()).hasValue(EndedBy.REQUEST);
      assertThat(seen.certificate().orElseThrow().isClean()).isTrue();
      assertThat(seen.order().labels()).containsEntry("colour", "red");
      TenantExec exec = seen.exec(1);
      assertThat(exec.ending().orElseThrow())
          .isInstanceOfSatisfying(
              TenantExec.Ending.Result.class,
              end -> assertThat(end.result().cause()).isEqualTo(new ExitCause.Exited(3)));
      assertThat(stdout(exec)).isEqualTo("words\n");
      exec.kill(Duration.ZERO);
      assertThatThrownBy(() -> seen.start(ExecSpec.of("true")))
          .isInstanceOf(SandboxException.class)
          .hasMessage("box " + seen.id() + " is not running but gone");
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                System.gc();
                assertThat(objects).allMatch(each -> each.refersTo(null));
              });
      assertThat(boxes.remove(Caller.OWNER, "web", false, true).isDone()).isTrue();
      assertThat(boxes.list(Caller.OWNER)).isEmpty();
      assertThat(boxes.memory().used()).isZero();
    }
  }

  @Test
  void theNextDaemonKnowsHowTheyEnded() throws Exception {
    String stopped;
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = open(engine)) {
      TenantBox first = make(boxes, "stopped");
      stopped = first.id();
      run(first, "sh", "-c", "echo words; exit 3");
      boxes.stop(first, Duration.ZERO);
      run(make(boxes, "running"), "true");
      boxes.removeAsync(make(boxes, "removed"));
    }
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = open(engine)) {
      assertThat(boxes.list(Caller.OWNER))
          .extracting(box -> box.order().name().orElseThrow())
          .containsExactly("stopped", "running");
      TenantBox first = boxes.find(Caller.OWNER, stopped);
      assertThat(first.endedBy()).hasValue(EndedBy.REQUEST);
      assertThat(first.order().detached()).isFalse();
      assertThat(first.certificate().orElseThrow().isClean()).isTrue();
      TenantExec exec = first.exec(1);
      assertThat(exec.spec().command()).startsWith("sh");
      assertThat(exec.ending().orElseThrow())
          .isInstanceOfSatisfying(
              TenantExec.Ending.Result.class,
              end -> assertThat(end.result().cause()).isEqualTo(new ExitCause.Exited(3)));
      // Its size is on record; what it wrote went with the daemon.
      assertThat(exec.view().stdout().size()).isEqualTo(6);
      assertThatThrownBy(() -> stdout(exec)).hasMessageContaining("was removed");
      assertThat(boxes.find(Caller.OWNER, "running").endedBy()).hasValue(EndedBy.DRAIN);

      // The name of a box that ended with another daemon is free.
      TenantBox heir = make(boxes, "stopped");
      assertThat(boxes.find(Caller.OWNER, "stopped").id()).isEqualTo(heir.id());
      assertThat(boxes.remove(heir, true).isClean()).isTrue();
      assertThat(boxes.remove(Caller.OWNER, stopped, false, true).isDone()).isTrue();
      boxes.remove(Caller.OWNER, "running", false, true);
    }
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = open(engine)) {
      assertThat(boxes.list(Caller.OWNER)).isEmpty();
    }
  }

  @Test
  void theHistoryIsBoundedForTheNextDaemonToo() throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home());
        var boxes = open(engine)) {
      for (int i = 0; i < 12; i++) {
        boxes.stop(make(boxes, "n" + i), Duration.ZERO);
      }
    }
    for (int i = 0; i < 2; i++) {
      try (Engine engine = Engine.openForDaemon(host.home());
          var boxes = open(engine)) {
        assertThat(boxes.list(Caller.OWNER))
            .extracting(box -> box.order().name().orElseThrow())
            .containsExactly("n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11");
      }
    }
  }

  /** A run is removed with its answer: its speed is not to depend on a disk. */
  @Test
  void aBoxOfARunWritesNothing() throws Exception {
    try (Engine engine = Engine.open(host.home());
        var boxes = open(engine)) {
      var order = BoxOrder.of(BoxSpec.defaults());
      TenantBox box = boxes.createAdmitted(Caller.OWNER, order, _ -> {}, PlannedStart.UNKNOWN);
      run(box, "true");
      assertThat(boxes.remove(box, true).isClean()).isTrue();
      assertThat(host.home().resolve("history")).doesNotExist();
      boxes.remove(make(boxes, "kept"), true);
      assertThat(host.home().resolve("history")).isNotEmptyFile();
    }
  }
}
