package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Role;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many callers that want one thing at one instant. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class BoxRegistryKernelTest {
  private static final int CALLERS = 12;

  /** Host uids of one engine. */
  private static final int BLOCK = 1024;

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private Engine engine;
  private BoxRegistry boxes;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
    boxes = TestRegistry.open(engine, host);
  }

  @AfterEach
  void close() {
    boxes.close();
    engine.close();
  }

  private static BoxOrder named(String name) {
    return TestRegistry.order(Optional.of(name), false);
  }

  /** Returns each result: the id of a box, or a code. */
  private static List<String> atOnce(Callable<BoxRegistry.Created> creation) throws Exception {
    var barrier = new CyclicBarrier(CALLERS);
    var running = new ArrayList<FutureTask<String>>();
    for (int i = 0; i < CALLERS; i++) {
      var task =
          new FutureTask<>(
              () -> {
                barrier.await();
                try {
                  return creation.call().box().id();
                } catch (SandboxException e) {
                  return e.code().wireName();
                }
              });
      Thread.ofPlatform().name("caller").start(task);
      running.add(task);
    }
    var outcomes = new ArrayList<String>();
    for (FutureTask<String> task : running) {
      outcomes.add(task.get());
    }
    return outcomes;
  }

  @Test
  void aNameHasOneWinnerAndNoOtherCallerMakesABox() throws Exception {
    for (int round = 0; round < 15; round++) {
      BoxOrder order = named("n" + round);
      var outcomes = atOnce(() -> boxes.create(Caller.OWNER, order, Optional.empty()));
      assertThat(outcomes)
          .filteredOn(word -> !word.equals(ErrorCode.CONFLICT.wireName()))
          .singleElement()
          .isEqualTo(boxes.find(Caller.OWNER, "n" + round).id());
      assertThat(boxes.list(Caller.OWNER)).hasSize(1);
      assertThat(boxes.remove(boxes.find(Caller.OWNER, "n" + round), true).isClean()).isTrue();
    }
  }

  @Test
  void anIdempotencyKeyMakesOneBoxForAll() throws Exception {
    for (int round = 0; round < 10; round++) {
      var key = Optional.of(new BoxRegistry.Idempotency("k" + round, "digest"));
      var order = BoxOrder.of(BoxSpec.defaults());
      var ids = new HashSet<>(atOnce(() -> boxes.create(Caller.OWNER, order, key)));
      assertThat(ids).hasSize(1);
      assertThat(boxes.list(Caller.OWNER)).hasSize(1);
      TenantBox box = boxes.list(Caller.OWNER).getFirst();
      assertThat(box.state()).isEqualTo(BoxState.RUNNING);
      assertThat(boxes.remove(box, true).isClean()).isTrue();
    }
  }

  private TenantBox createMeanwhile(BoxRegistry.Filling meanwhile) throws Exception {
    BoxOrder order = TestRegistry.order(Optional.of("n"), true);
    return boxes.create(Caller.OWNER, order, Optional.empty(), meanwhile, () -> false).box();
  }

  /** Others find it before it is detached: it was made, and then it was removed. */
  @Test
  void aBoxThatIsRemovedBeforeItsCreationIsAnsweredWasMade() throws Exception {
    TenantBox box = createMeanwhile(_ -> boxes.remove(Caller.OWNER, "n", true, true));
    assertThat(box.state()).isEqualTo(BoxState.GONE);
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
    assertThat(boxes.remove(Caller.OWNER, "n", true, true).id()).isEqualTo(box.id());
  }

  @Test
  void aBoxThatIsStoppedBeforeItsCreationIsAnsweredStays() throws Exception {
    TenantBox box = createMeanwhile(each -> each.end(Duration.ZERO, EndedBy.REQUEST));
    assertThat(box.state()).isEqualTo(BoxState.GONE);
    assertThat(boxes.find(Caller.OWNER, "n")).isSameAs(box);
    assertThat(boxes.remove(box, false).isClean()).isTrue();
  }

  /** Descriptors that were not asked for are a failure, and leave nothing. */
  @Test
  void aBoxThatCannotBeFilledIsNone() {
    assertThatThrownBy(
            () ->
                createMeanwhile(
                    _ -> {
                      throw new SandboxException(ErrorCode.WRONG_STATE, "no");
                    }))
        .hasMessage("no");
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
  }

  // --- what fails because its box has ended ---

  private static SandboxException internal() {
    return new SandboxException(ErrorCode.INTERNAL, "cannot open 1.stdout: ENOENT");
  }

  private static ErrorCode reported(TenantBox box, RuntimeException failure) {
    return ((SandboxException) box.meanwhile(failure)).code();
  }

  @Test
  void aFailureInABoxThatEndsIsReportedAsItsEnd() throws Exception {
    TenantBox box = boxes.create(Caller.OWNER, named("n"), Optional.empty()).box();
    var refused = new SandboxException(ErrorCode.BAD_REQUEST, "no such thing");
    var bug = new IllegalStateException("a bug");
    assertThat(reported(box, internal())).as("it lives").isEqualTo(ErrorCode.INTERNAL);
    assertThat(box.meanwhile(bug)).isSameAs(bug);

    assertThat(box.end(Duration.ZERO, EndedBy.REQUEST).isClean()).isTrue();
    for (RuntimeException failure :
        List.of(internal(), new SandboxException(ErrorCode.SETUP_FAILED, "no"), bug)) {
      assertThat(reported(box, failure)).as("it has ended").isEqualTo(ErrorCode.WRONG_STATE);
    }
    assertThat(box.meanwhile(refused)).isSameAs(refused);

    assertThat(boxes.remove(box, true).isClean()).isTrue();
    for (RuntimeException failure :
        List.of(internal(), new SandboxException(ErrorCode.SETUP_FAILED, "no"), bug)) {
      assertThat(reported(box, failure)).as("it is removed").isEqualTo(ErrorCode.NOT_FOUND);
    }
    assertThat(box.meanwhile(refused)).isSameAs(refused);
  }

  // --- the last uids ---

  /** Our block, by what belongs to it. */
  private int firstUid() {
    return IntStream.iterate(0x7000_0000, uid -> uid > 0, uid -> uid + BLOCK)
        .filter(engine.uids()::isOurs)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theLastUidsAreForTenantsWithFewBoxes() throws Exception {
    TestHost.require(Feature.ROOT);
    var many = new Caller("many", Role.USER);
    var few = new Caller("few", Role.USER);
    var order = BoxOrder.of(BoxSpec.defaults());
    for (int i = 0; i < BLOCK / 64; i++) {
      boxes.create(many, order, Optional.empty());
    }
    int first = firstUid();
    for (int uid = first; engine.uids().left() > BLOCK / 8; uid++) {
      engine.uids().take(uid);
    }
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> boxes.create(many, order, Optional.empty()))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.QUOTA));
    assertThat(boxes.create(few, order, Optional.empty()).isNew()).isTrue();
    boxes.list(Caller.OWNER).forEach(boxes::removeAsync);
    await().atMost(Duration.ofSeconds(60)).until(() -> boxes.list(Caller.OWNER).isEmpty());
    IntStream.range(first, first + BLOCK).forEach(engine.uids()::giveBack);
  }
}
