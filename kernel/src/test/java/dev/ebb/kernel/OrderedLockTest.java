package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
@SuppressWarnings("LockNotBeforeTry") // the order of locking is what is tested
class OrderedLockTest {
  private final OrderedLock outer = new OrderedLock(LockOrder.PRESSURE_READING);
  private final OrderedLock inner = new OrderedLock(LockOrder.ADMISSION);

  @Test
  void locksAreTakenInTheirOrder() {
    outer.lock();
    inner.lock();
    outer.lock();
    outer.unlock();
    inner.unlock();
    outer.unlock();
    assertThat(outer.isLocked()).isFalse();
    assertThat(inner.isLocked()).isFalse();
  }

  @Test
  void aLockOutOfOrderIsRefused() {
    inner.lock();
    try {
      assertThatThrownBy(outer::lock)
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("PRESSURE_READING is taken while ADMISSION is held");
    } finally {
      inner.unlock();
    }
    outer.lock();
    outer.unlock();
  }

  @Test
  void twoLocksOfOnePlaceAreRefused() {
    var other = new OrderedLock(LockOrder.ADMISSION);
    inner.lock();
    try {
      assertThatThrownBy(other::lock).isInstanceOf(AssertionError.class);
    } finally {
      inner.unlock();
    }
  }

  @Test
  void theOrderHoldsForBothSidesOfAReadWriteLock() {
    var lock = new OrderedReadWriteLock(LockOrder.ENGINE_MAKING);
    inner.lock();
    try {
      assertThatThrownBy(lock.readLock()::lock).isInstanceOf(AssertionError.class);
      assertThatThrownBy(lock.writeLock()::lock).isInstanceOf(AssertionError.class);
    } finally {
      inner.unlock();
    }
    lock.readLock().lock();
    inner.lock();
    inner.unlock();
    lock.readLock().unlock();
  }

  /** Takes one lock, then waits for the other; no order is checked, as in the product. */
  private static Thread hold(OrderedLock first, OrderedLock second, CountDownLatch both) {
    return Thread.ofVirtual()
        .start(
            () -> {
              HeldLocks.UNCHECKED.add(Thread.currentThread());
              first.lock();
              both.countDown();
              try {
                both.await();
                second.lockInterruptibly();
                second.unlock();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } finally {
                first.unlock();
                HeldLocks.UNCHECKED.remove(Thread.currentThread());
              }
            });
  }

  @Test
  void aDeadlockOfVirtualThreadsIsFoundWithItsStacks() throws Exception {
    var a = new OrderedLock(LockOrder.BOX_RELEASE);
    var b = new OrderedLock(LockOrder.INIT_SEND);
    var both = new CountDownLatch(2);
    var detector = new StallDetector();
    Thread one = hold(a, b, both);
    Thread two = hold(b, a, both);
    try {
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(
              () -> {
                List<StallDetector.Stall> stalls = detector.look(1_000);
                assertThat(stalls).anyMatch(StallDetector.Stall::isDeadlock);
                assertThat(stalls.getFirst().what()).contains("is deadlocked");
                assertThat(stalls.getFirst().traces().getFirst().frames().toString())
                    .contains("OrderedLockTest");
              });
    } finally {
      one.interrupt();
      two.interrupt();
      one.join();
      two.join();
    }
    assertThat(detector.look(1_000)).isEmpty();
  }

  @Test
  void aLockThatIsNotGivenBackIsFoundOnceItIsWaitedFor() throws Exception {
    var detector = new StallDetector();
    var given = new CountDownLatch(1);
    Thread holder =
        Thread.ofVirtual()
            .name("holder")
            .start(
                () -> {
                  inner.lock();
                  try {
                    given.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  } finally {
                    inner.unlock();
                  }
                });
    await().until(inner::isLocked);
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  inner.lock();
                  inner.unlock();
                });
    await().until(inner::hasQueuedThreads);
    for (int look = 0; look < 3; look++) {
      assertThat(detector.look(3)).isEmpty();
    }
    var stall = detector.look(3).getFirst();
    assertThat(stall.what()).isEqualTo("lock ADMISSION is not given back");
    assertThat(stall.isDeadlock()).isFalse();
    assertThat(stall.traces().getFirst().thread()).isEqualTo("holder holds ADMISSION");
    given.countDown();
    holder.join();
    waiter.join();
    assertThat(detector.look(0).stream().filter(each -> each.what().contains("lock"))).isEmpty();
  }

  @Test
  void aPollerThatOneHandlerHoldsUpIsFoundByNameAndStack() throws Exception {
    var detector = new StallDetector();
    var gate = new CountDownLatch(1);
    try (var scope = new Scope()) {
      Poller poller = Poller.start(scope, "held-up");
      scope.own(gate::countDown);
      assertThat(detector.look(1)).isEmpty();
      poller.execute(
          () -> {
            try {
              gate.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          });
      await().until(() -> !poller.isWaiting());
      await()
          .untilAsserted(
              () -> {
                List<StallDetector.Stall> stalls = detector.look(2);
                assertThat(stalls).hasSize(1);
                var stall = stalls.getFirst();
                assertThat(stall.what()).isEqualTo("thread held-up does not turn");
                assertThat(stall.traces().getFirst().frames().toString())
                    .contains("CountDownLatch.await");
              });
      gate.countDown();
      await().until(poller::isWaiting);
      assertThat(detector.look(0)).isEmpty();
    }
  }

  /** As many threads as run at a time, and none of them yields. */
  @Test
  void virtualThreadsThatAreNotScheduledAreFound() throws Exception {
    int carriers =
        Integer.getInteger(
            "jdk.virtualThreadScheduler.parallelism", Runtime.getRuntime().availableProcessors());
    var detector = new StallDetector();
    var running = new AtomicInteger();
    var isOver = new AtomicBoolean();
    var busy = new ArrayList<Thread>();
    try {
      for (int i = 0; i < carriers; i++) {
        busy.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      running.incrementAndGet();
                      while (!isOver.get()) {
                        Thread.onSpinWait();
                      }
                    }));
      }
      await().until(() -> running.get() == carriers);
      for (int look = 0; look < 4; look++) {
        assertThat(detector.look(3)).isEmpty();
      }
      assertThat(detector.look(3))
          .extracting(StallDetector.Stall::what)
          .containsExactly("virtual threads do not run");
    } finally {
      isOver.set(true);
      for (Thread each : busy) {
        each.join();
      }
    }
    await().untilAsserted(() -> assertThat(detector.look(3)).isEmpty());
  }
}
