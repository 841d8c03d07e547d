package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Role;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EventsTest {
  private static final Instant BEGUN = Instant.parse("2026-11-16T12:00:00Z");
  private static final Duration AT_ONCE = Duration.ofMillis(1);
  private static final int KEPT = 4096;

  private final Events events = new Events(BEGUN);

  private static Events.Batch await(Events from, Caller caller, long seen, Duration patience)
      throws InterruptedException {
    try (var subscription = from.subscribe(caller)) {
      return subscription.await(seen, patience);
    }
  }

  private Events.Batch await(long seen, Duration patience) throws InterruptedException {
    return await(events, Caller.OWNER, seen, patience);
  }

  private void publish(int count) {
    for (int i = 0; i < count; i++) {
      events.publish("acme", "box", new HashMap<>(Map.of("number", i)));
    }
  }

  private static List<Object> numbers(Events.Batch batch) {
    return batch.events().stream().map(event -> event.data().get("number")).toList();
  }

  @Test
  void eachEventArrivesOnceAndInOrder() throws Exception {
    long begin = events.last();
    publish(3);

    var all = await(begin, AT_ONCE);
    assertThat(numbers(all)).containsExactly(0, 1, 2);
    assertThat(all.missed()).isFalse();
    assertThat(all.events())
        .allSatisfy(event -> assertThat(event.tenant()).isEqualTo("acme"))
        .allSatisfy(event -> assertThat(event.kind()).isEqualTo("box"))
        .allSatisfy(event -> assertThat(event.data()).containsKey("at"));
    assertThat(numbers(await(all.events().get(1).id(), AT_ONCE))).containsExactly(2);
    assertThat(await(events.last(), AT_ONCE).events()).isEmpty();
  }

  @Test
  void aWaitingReaderIsWokenLongBeforeItsPatienceEnds() throws Exception {
    long begin = events.last();
    var waiting = new FutureTask<>(() -> await(begin, Duration.ofHours(1)));
    Thread waiter = Thread.ofPlatform().name("waiter").start(waiting);
    Awaitility.await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
    publish(1);
    assertThat(numbers(waiting.get())).containsExactly(0);
  }

  @Test
  void aSlowReaderMissesTheOldestEventsAndLearnsOfTheGap() throws Exception {
    long begin = events.last();
    publish(KEPT);
    assertThat(await(begin, AT_ONCE).missed()).isFalse();
    publish(2);
    var batch = await(begin, AT_ONCE);
    assertThat(batch.missed()).isTrue();
    assertThat(numbers(batch)).hasSize(KEPT).startsWith(2).endsWith(1);
    assertThat(await(begin + 2, AT_ONCE).missed()).isFalse();
  }

  @Test
  void aReaderThatReturnsAfterARestartHasMissedEvents() throws Exception {
    publish(100);
    long seen = events.last();
    var next = new Events(BEGUN.plusSeconds(1));
    next.publish("acme", "box", new HashMap<>(Map.of("number", 7)));

    var batch = await(next, Caller.OWNER, next.after(seen), AT_ONCE);
    assertThat(numbers(batch)).containsExactly(7);
    assertThat(batch.missed()).isTrue();
  }

  @Test
  void afterNothingAndAfterWhatNeverWasComesAll() throws Exception {
    publish(2);
    for (long seen : new long[] {0, events.last() + 1, Long.MAX_VALUE}) {
      var batch = await(events.after(seen), AT_ONCE);
      assertThat(numbers(batch)).containsExactly(0, 1);
      assertThat(batch.missed()).isFalse();
    }
    assertThat(events.after(events.last())).isEqualTo(events.last());
    assertThat(events.after(events.last() - 1)).isEqualTo(events.last() - 1);
  }

  @Test
  void eventsOfOneTenantPushOutNoneOfAnother() throws Exception {
    long begin = events.last();
    events.publish("quiet", "box", new HashMap<>(Map.of("number", 7)));
    publish(2 * KEPT);
    var quiet = await(events, new Caller("quiet", Role.USER), begin, AT_ONCE);
    assertThat(numbers(quiet)).containsExactly(7);
    assertThat(quiet.missed()).isFalse();
    assertThat(await(events, new Caller("acme", Role.USER), begin, AT_ONCE).missed()).isTrue();
  }

  @Test
  void largeOnesAreKeptForAShorterTime() throws Exception {
    long begin = events.last();
    for (int i = 0; i < KEPT; i++) {
      events.publish("acme", "network", new HashMap<>(Map.of("network", "x".repeat(60_000))));
    }
    var batch = await(begin, AT_ONCE);
    assertThat(batch.missed()).isTrue();
    assertThat(batch.events()).isNotEmpty().hasSizeLessThan(100);
  }

  @Test
  void aTenantHasAShareOfTheSubscribers() {
    var all = new ArrayList<Events.Subscription>();
    var acme = new Caller("acme", Role.USER);
    for (int i = 0; i < 64; i++) {
      all.add(events.subscribe(acme));
    }
    assertThatThrownBy(() -> events.subscribe(acme))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.QUOTA));
    events.subscribe(new Caller("quiet", Role.USER)).close();
    all.removeLast().close();
    events.subscribe(acme).close();
  }
}
