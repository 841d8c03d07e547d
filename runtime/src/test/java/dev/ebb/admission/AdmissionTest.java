package dev.ebb.admission;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AdmissionTest {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(20));
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final Cost TWO = new Cost(2, 0);

  /**
   * 100 PIDs, of which so many are used. Each reading takes a lock, as a real one does: under the
   * lock of the admission that is out of order, and throws.
   */
  private static final class FakeMeter implements Meter {
    final AtomicInteger use = new AtomicInteger();
    private final OrderedLock lock = new OrderedLock(LockOrder.PRESSURE_READING);

    @Override
    public Readings latest() {
      lock.lock();
      try {
        return read();
      } finally {
        lock.unlock();
      }
    }

    private Readings read() {
      List<Reading> readings = new ArrayList<>();
      for (Resource resource : Resource.values()) {
        var amount =
            resource == Resource.PIDS ? new Amount(use.get(), 100, "a test") : Amount.unlimited(0);
        readings.add(Reading.of(resource, amount, Thresholds.DEFAULT, PressureLevel.OK));
      }
      return new Readings(Instant.EPOCH, Duration.ZERO, readings, Map.of());
    }

    @Override
    public Readings fresh() {
      return latest();
    }
  }

  private final FakeMeter meter = new FakeMeter();

  private Admission admission(int most, Duration patience) {
    return new Admission(meter, Thresholds.DEFAULT, most, patience);
  }

  private static void assertNothingIsLeft(Admission admission) {
    assertThat(admission.state().waiting()).isZero();
    assertThat(admission.state().making()).isZero();
  }

  @Test
  void whereThereIsRoomNoRequestWaits() throws Exception {
    Admission admission = admission(0, Duration.ZERO);
    meter.use.set(70);
    admission.admit("a", TWO).close();
    try (var _ = admission.admit("a", TWO);
        var _ = admission.admit("b", TWO)) {
      assertThat(admission.state().making()).isEqualTo(2);
    }
    assertNothingIsLeft(admission);
  }

  @Test
  void whenNothingIsLeftItIsRefusedAtOnceWithTheReason() {
    Admission admission = admission(10, LONG);
    meter.use.set(96);
    Refusal refusal = catchThrowableOfType(Refusal.class, () -> admission.admit("a", TWO));
    assertThat(refusal.reason()).isEqualTo(Refusal.Reason.FULL);
    assertThat(refusal.reading().use()).isEqualTo(96);
    assertThat(refusal).hasMessageContaining("pids 96 of 100").hasMessageContaining("a test");
    assertThat(refusal.retryAfter()).isPositive();
    assertNothingIsLeft(admission);
    assertThat(admission.state().refusals()).containsEntry(Refusal.Reason.FULL, 1L);
  }

  /** Between two readings no gauge sees what the other requests take. */
  @Test
  void manyAtOnceDoNotOvershootBetweenTwoReadings() throws Exception {
    Admission admission = admission(0, Duration.ZERO);
    meter.use.set(50);
    var permits = new ArrayList<Permit>();
    int refused = 0;
    for (int i = 0; i < 100; i++) {
      try {
        permits.add(admission.admit("a", TWO));
      } catch (Refusal e) {
        refused++;
      }
    }
    // From 80 % on one at a time: holders of a permit keep the others out.
    assertThat(permits).hasSize(14);
    assertThat(refused).isEqualTo(86);
    permits.forEach(Permit::close);
    assertThatThrownBy(
            () -> {
              for (int i = 0; i < 20; i++) {
                admission.admit("a", TWO).close();
              }
            })
        .as("what was made and not seen yet counts still")
        .isInstanceOf(Refusal.class);
    assertThat(admission.state().reserved().pids()).isGreaterThanOrEqualTo(28);
    admission.afterReading(admission.beforeReading());
    assertThat(admission.state().reserved()).isEqualTo(Cost.NOTHING);
    admission.admit("a", TWO).close();
  }

  @Test
  void workBegunDuringAReadingDoesNotCountAsSeen() throws Exception {
    Admission admission = admission(0, Duration.ZERO);
    var mark = admission.beforeReading();
    admission.admit("a", TWO).close();
    admission.afterReading(mark);
    assertThat(admission.state().reserved()).isEqualTo(TWO);
  }

  @Test
  void atTheAlertLevelOneBeginsAtATime() throws Exception {
    Admission admission = admission(10, LONG);
    meter.use.set(85);
    Permit first = admission.admit("a", TWO);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Permit> second = threads.submit(() -> admission.admit("a", TWO));
      await().atMost(PATIENCE).until(() -> admission.state().waiting() == 1);
      assertThat(second.isDone()).isFalse();
      first.close();
      second.get().close();
    }
    assertNothingIsLeft(admission);
  }

  @Test
  void aCallerThatLeavesIsOutOfTheQueueAtOnce() throws Exception {
    Admission admission = admission(10, LONG);
    meter.use.set(85);
    var hasLeft = new AtomicBoolean();
    Permit first = admission.admit("a", TWO);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Permit> staying = threads.submit(() -> admission.admit("a", TWO));
      await().atMost(PATIENCE).until(() -> admission.state().waiting() == 1);
      Future<Permit> leaving = threads.submit(() -> admission.admit("a", TWO, hasLeft::get));
      await().atMost(PATIENCE).until(() -> admission.state().waiting() == 2);
      hasLeft.set(true);
      assertThatThrownBy(leaving::get).rootCause().isInstanceOf(Refusal.class);
      assertThat(admission.state().waiting()).as("before its turn").isEqualTo(1);
      assertThat(admission.state().refusals()).containsOnly(Map.entry(Refusal.Reason.LEFT, 1L));
      first.close();
      staying.get().close();
    }
    assertNothingIsLeft(admission);
  }

  @Test
  void aWaitingRequestIsAdmittedWhenRoomComesBackUnannounced() throws Exception {
    Admission admission = admission(10, LONG);
    meter.use.set(94);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Permit> waiting = threads.submit(() -> admission.admit("a", TWO));
      await().atMost(PATIENCE).until(() -> admission.state().waiting() == 1);
      meter.use.set(10);
      waiting.get().close();
    }
    assertNothingIsLeft(admission);
  }

  @Test
  void aDeadlineIsHonouredAndLeavesNothing() {
    Admission admission = admission(10, Duration.ofMillis(300));
    meter.use.set(94);
    long begun = System.nanoTime();
    Refusal refusal = catchThrowableOfType(Refusal.class, () -> admission.admit("a", TWO));
    var waited = Duration.ofNanos(System.nanoTime() - begun);
    assertThat(refusal.reason()).isEqualTo(Refusal.Reason.DEADLINE);
    assertThat(waited).isBetween(Duration.ofMillis(300), PATIENCE);
    assertNothingIsLeft(admission);
  }

  @Test
  void anInterruptedWaiterLeavesNothing() throws Exception {
    Admission admission = admission(10, LONG);
    meter.use.set(85);
    Permit first = admission.admit("a", TWO);
    var ended = new CompletableFuture<Throwable>();
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    admission.admit("b", TWO).close();
                    ended.complete(new AssertionError("was let in"));
                  } catch (Refusal | InterruptedException e) {
                    ended.complete(e);
                  }
                });
    await().atMost(PATIENCE).until(() -> admission.state().waiting() == 1);
    waiter.interrupt();
    assertThat(ended.get()).isInstanceOf(InterruptedException.class);
    first.close();
    assertNothingIsLeft(admission);
    assertThat(admission.state().reserved()).isEqualTo(TWO);
  }

  @Test
  void aFullQueueDropsTheLastRequestOfTheTenantWithTheMost() throws Exception {
    Admission admission = admission(4, LONG);
    meter.use.set(81);
    Permit first = admission.admit("a", TWO);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var flood = new ArrayList<Future<Permit>>();
      for (int i = 1; i <= 4; i++) {
        flood.add(threads.submit(() -> admission.admit("a", TWO)));
        int waiting = i;
        await().atMost(PATIENCE).until(() -> admission.state().waiting() == waiting);
      }
      Refusal own = catchThrowableOfType(Refusal.class, () -> admission.admit("a", TWO));
      assertThat(own.reason()).isEqualTo(Refusal.Reason.QUEUE_FULL);
      Future<Permit> other = threads.submit(() -> admission.admit("b", TWO));
      assertThatThrownBy(flood.getLast()::get).hasCauseInstanceOf(Refusal.class);
      assertThat(admission.state().waiting()).isEqualTo(4);
      first.close();
      // In turn: a, b, a, a; each begins when the one before is done.
      flood.getFirst().get().close();
      other.get().close();
      flood.get(1).get().close();
      flood.get(2).get().close();
    }
    assertNothingIsLeft(admission);
  }

  /** A floods with 40 at a time, B asks one after the other; each takes 5 ms to begin. */
  @Test
  void oneTenantsFloodDoesNotKeepAnotherWaiting() throws Exception {
    Admission admission = admission(64, LONG);
    meter.use.set(85);
    var done = new CountDownLatch(1);
    var waits = Collections.synchronizedList(new ArrayList<Duration>());
    var floodWaits = Collections.synchronizedList(new ArrayList<Duration>());
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 40; i++) {
        var _ =
            threads.submit(
                () -> {
                  while (done.getCount() > 0) {
                    floodWaits.add(beginOnce(admission, "a", done));
                  }
                  return null;
                });
      }
      await().atMost(PATIENCE).until(() -> admission.state().waiting() >= 30);
      for (int i = 0; i < 60; i++) {
        waits.add(beginOnce(admission, "b", done));
      }
      done.countDown();
    }
    Duration[] sorted = waits.toArray(Duration[]::new);
    Arrays.sort(sorted);
    Duration p90 = sorted[sorted.length - 7]; // which six of them exceed
    Duration[] flood = floodWaits.toArray(Duration[]::new);
    Arrays.sort(flood);
    Duration usual = flood[flood.length / 2];
    System.out.println(
        "fair queue: b p90 " + p90.toMillis() + " ms, a p50 " + usual.toMillis() + " ms");
    // B waits for one of A's at most, each of A's for 39 others.
    assertThat(sorted[sorted.length / 2]).isLessThan(usual.dividedBy(4));
    assertThat(p90).isLessThan(usual);
    assertNothingIsLeft(admission);
  }

  /** The meter sees at once what begins, and that it is gone. */
  private static Duration beginOnce(Admission admission, String tenant, CountDownLatch done)
      throws Exception {
    long begun = System.nanoTime();
    try (var _ = admission.admit(tenant, TWO)) {
      var waited = Duration.ofNanos(System.nanoTime() - begun);
      var _ = done.await(5, TimeUnit.MILLISECONDS);
      return waited;
    } finally {
      admission.afterReading(admission.beforeReading());
    }
  }
}
