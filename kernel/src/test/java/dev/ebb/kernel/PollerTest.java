package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Poller.Interest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PollerTest {
  private static final String NAME = "test-poller";
  private static final byte[] ONE = {1, 0, 0, 0, 0, 0, 0, 0};

  private final Scope scope = new Scope();
  private Poller poller;

  @BeforeEach
  void start() throws KernelException {
    poller = Poller.start(scope, NAME);
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
    assertThat(pollerThreads()).isEmpty();
  }

  private static List<Thread> pollerThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(NAME))
        .toList();
  }

  private static void raise(Fd event) throws KernelException {
    event.write(ONE, 0, ONE.length);
  }

  private static void lower(Fd event) throws KernelException {
    event.read(new byte[8], 0, 8);
  }

  /** Returns when the poller has dispatched all that was ready when this was called. */
  private void settle() throws Exception {
    // RACE: what was ready already may be in the batch after this event's own; hence twice.
    for (int i = 0; i < 2; i++) {
      try (var brief = new Scope()) {
        var passed = new CountDownLatch(1);
        Fd event = Fd.event(brief);
        poller.watch(brief, event, Interest.READ, passed::countDown);
        raise(event);
        await(passed);
      }
    }
  }

  private static void await(CountDownLatch latch) throws InterruptedException {
    assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void handlersRunOnTheOneNamedThread() throws Exception {
    var done = new CountDownLatch(1);
    var thread = new AtomicReference<Thread>();
    Fd event = Fd.event(scope);
    poller.watch(
        scope,
        event,
        Interest.READ,
        () -> {
          thread.set(Thread.currentThread());
          done.countDown();
        });
    raise(event);
    await(done);
    assertThat(pollerThreads()).containsExactly(thread.get());
    assertThat(thread.get().isDaemon()).isTrue();
    assertThat(thread.get().isVirtual()).isFalse();
  }

  @Test
  void aWatchIsSilentAfterItsHandlerUntilItIsRearmed() throws Exception {
    var calls = new AtomicInteger();
    Fd event = Fd.event(scope);
    var watch = poller.watch(scope, event, Interest.READ, calls::incrementAndGet);
    raise(event);
    settle();
    raise(event);
    settle();
    assertThat(calls).hasValue(1);
    watch.rearm();
    settle();
    assertThat(calls).hasValue(2);
    lower(event);
    watch.rearm();
    settle();
    assertThat(calls).hasValue(2);
  }

  @Test
  void aClosedWatchIsNeverCalledAndRearmingItDoesNothing() throws Exception {
    var calls = new AtomicInteger();
    Fd event = Fd.event(scope);
    var watch = poller.watch(scope, event, Interest.READ, calls::incrementAndGet);
    watch.close();
    watch.close();
    raise(event);
    watch.rearm();
    settle();
    assertThat(calls).hasValue(0);
  }

  @Test
  void aDescriptorMayBeClosedBeforeItsWatch() throws Exception {
    Fd event = Fd.event(scope);
    var watch = poller.watch(scope, event, Interest.READ, () -> {});
    event.close();
    watch.close();
  }

  @Test
  void aDescriptorCanBeWatchedAgainAfterItsWatchWasClosed() throws Exception {
    var calls = new AtomicInteger();
    Fd event = Fd.event(scope);
    poller.watch(scope, event, Interest.READ, () -> {}).close();
    poller.watch(scope, event, Interest.READ, calls::incrementAndGet);
    raise(event);
    settle();
    assertThat(calls).hasValue(1);
  }

  @Test
  void hangUpWakesWhateverTheInterest() throws Exception {
    var writing = new Scope();
    var pipe = Fd.pipe(scope, writing);
    var done = new CountDownLatch(1);
    poller.watch(scope, pipe.read(), Interest.PRIORITY, done::countDown);
    writing.close();
    await(done);
  }

  @Test
  void writabilityWakes() throws Exception {
    var pipe = Fd.pipe(scope, scope);
    var done = new CountDownLatch(1);
    poller.watch(scope, pipe.write(), Interest.WRITE, done::countDown);
    await(done);
  }

  @Test
  void whatCannotBeWaitedForIsRefused(@TempDir Path directory) throws Exception {
    Fd file = Fd.open(scope, Files.createFile(directory.resolve("file")), Fd.Flag.READ);
    assertThatThrownBy(() -> poller.watch(scope, file, Interest.READ, () -> {}))
        .hasMessage("cannot wait for " + file + ": EPERM");
  }

  @Test
  void aWatchForAClosedScopeIsGoneAtOnce() throws Exception {
    var calls = new AtomicInteger();
    var closed = new Scope();
    closed.close();
    Fd event = Fd.event(scope);
    assertThatThrownBy(() -> poller.watch(closed, event, Interest.READ, calls::incrementAndGet))
        .hasMessage("scope is closed");
    raise(event);
    settle();
    assertThat(calls).hasValue(0);
  }

  @Test
  void aFailingHandlerDoesNotEndThePoller() throws Exception {
    for (Throwable failure :
        List.of(new IllegalStateException("test"), new AssertionError("test"))) {
      Fd event = Fd.event(scope);
      var watch =
          poller.watch(
              scope,
              event,
              Interest.READ,
              () -> {
                switch (failure) {
                  case RuntimeException e -> throw e;
                  case Error e -> throw e;
                  default -> throw new AssertionError(failure);
                }
              });
      raise(event);
      settle();
      watch.rearm();
    }
    settle();
    assertThat(pollerThreads()).hasSize(1);
  }

  @Test
  void aHandlerMayCloseItsOwnWatch() throws Exception {
    var calls = new AtomicInteger();
    var failure = new AtomicReference<Throwable>();
    var self = new AtomicReference<Poller.Watch>();
    Fd event = Fd.event(scope);
    var watch =
        poller.watch(
            scope,
            event,
            Interest.READ,
            () -> {
              calls.incrementAndGet();
              try {
                self.get().close();
                self.get().rearm();
              } catch (Throwable e) {
                failure.set(e);
              }
            });
    self.set(watch);
    raise(event);
    settle();
    assertThat(calls).hasValue(1);
    assertThat(failure).hasNullValue();
  }

  @Test
  void aWatchClosedByAnotherHandlerOfTheSameBatchIsNotCalled() throws Exception {
    for (int round = 0; round < 200; round++) {
      try (var brief = new Scope()) {
        var calls = new AtomicInteger();
        var watches = new ArrayList<Poller.Watch>();
        var hold = new CountDownLatch(1);
        Fd gate = Fd.event(brief);
        poller.watch(brief, gate, Interest.READ, () -> awaitQuietly(hold));
        raise(gate);
        for (int i = 0; i < 2; i++) {
          Fd event = Fd.event(brief);
          int other = 1 - i;
          watches.add(
              poller.watch(
                  brief,
                  event,
                  Interest.READ,
                  () -> {
                    calls.incrementAndGet();
                    closeQuietly(watches.get(other));
                  }));
          raise(event);
        }
        hold.countDown();
        settle();
        assertThat(calls).hasValue(1);
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      await(latch);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void closeQuietly(Owned owned) {
    try {
      owned.close();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void rearmingAWatchWhileItIsClosedIsNoError() throws Exception {
    Fd event = Fd.event(scope);
    for (int round = 0; round < 2000; round++) {
      var watch = poller.watch(scope, event, Interest.READ, () -> {});
      var failure = new AtomicReference<Throwable>();
      Thread rearming =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      for (int i = 0; i < 20; i++) {
                        watch.rearm();
                      }
                    } catch (Throwable e) {
                      failure.set(e);
                    }
                  });
      scope.release(watch);
      rearming.join();
      assertThat(failure).hasNullValue();
    }
  }

  @Test
  void aThousandDescriptorsAreWatchedByOneThread() throws Exception {
    int count = 1000;
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    var done = new CountDownLatch(count);
    var events = new ArrayList<Fd>();
    for (int i = 0; i < count; i++) {
      Fd event = Fd.event(scope);
      events.add(event);
      poller.watch(
          scope,
          event,
          Interest.READ,
          () -> {
            threads.add(Thread.currentThread());
            done.countDown();
          });
    }
    for (Fd event : events) {
      raise(event);
    }
    await(done);
    assertThat(threads).hasSize(1);
    assertThat(pollerThreads()).hasSize(1);
  }

  private static void assertNothingIsLeft(String name, long descriptors) throws Exception {
    assertThat(Thread.getAllStackTraces().keySet())
        .noneMatch(thread -> thread.getName().equals(name));
    assertThat(FdTest.openDescriptors()).isEqualTo(descriptors);
  }

  @Test
  void closingEndsTheThreadAndGivesItsDescriptorsBack() throws Exception {
    long before = FdTest.openDescriptors();
    var owner = new Scope();
    Poller other = Poller.start(owner, "other-poller");
    poller.watch(owner, Fd.event(owner), Interest.READ, () -> {});
    owner.close();
    other.close();
    assertNothingIsLeft("other-poller", before);
  }

  @Test
  void aHandlerMayCloseThePoller() throws Exception {
    var owner = new Scope();
    Poller other = Poller.start(owner, "other-poller");
    var thread = new AtomicReference<Thread>();
    var closed = new CountDownLatch(1);
    Fd event = Fd.event(owner);
    other.watch(
        owner,
        event,
        Interest.READ,
        () -> {
          thread.set(Thread.currentThread());
          closeQuietly(owner);
          closed.countDown();
        });
    raise(event);
    await(closed);
    assertThat(thread.get().join(Duration.ofSeconds(10))).isTrue();
  }

  @Test
  void aPollerForAClosedScopeLeavesNoThread() throws Exception {
    long before = FdTest.openDescriptors();
    var closed = new Scope();
    closed.close();
    assertThatThrownBy(() -> Poller.start(closed, "late-poller")).hasMessage("scope is closed");
    assertNothingIsLeft("late-poller", before);
  }

  @Test
  void catchingUpHandlesAllThatWasReady() throws Exception {
    var handled = new AtomicInteger();
    var hold = new CountDownLatch(1);
    Fd gate = Fd.event(scope);
    poller.watch(scope, gate, Interest.READ, () -> awaitQuietly(hold));
    raise(gate);
    int count = 300;
    for (int i = 0; i < count; i++) {
      Fd event = Fd.event(scope);
      poller.watch(scope, event, Interest.READ, handled::incrementAndGet);
      raise(event);
    }
    hold.countDown();
    assertThat(poller.catchUp(Deadline.in(Duration.ofSeconds(10)))).isTrue();
    assertThat(handled).hasValue(count);
  }

  @Test
  void catchingUpWaitsForAWatchThatReadsInPieces() throws Exception {
    var read = new AtomicInteger();
    var pipe = Fd.pipe(scope, scope);
    int size = 1000;
    assertThat(pipe.write().write(new byte[size], 0, size)).isEqualTo(size);
    var watch = new AtomicReference<Poller.Watch>();
    var hold = new CountDownLatch(1);
    watch.set(
        poller.watch(
            scope,
            pipe.read(),
            Interest.READ,
            () -> {
              awaitQuietly(hold);
              try {
                read.addAndGet(Math.max(0, pipe.read().read(new byte[10], 0, 10)));
                watch.get().rearm();
              } catch (KernelException e) {
                throw new IllegalStateException(e);
              }
            }));
    hold.countDown();
    assertThat(poller.catchUp(Deadline.in(Duration.ofSeconds(10)))).isTrue();
    assertThat(read).hasValue(size);
  }

  @Test
  void aPollerThatIsAlwaysBusyStillCatchesUp() throws Exception {
    var busy = new AtomicReference<Poller.Watch>();
    Fd event = Fd.event(scope);
    raise(event);
    var armed = new CountDownLatch(1);
    busy.set(
        poller.watch(
            scope,
            event,
            Interest.READ,
            () -> {
              awaitQuietly(armed);
              try {
                busy.get().rearm();
              } catch (KernelException e) {
                throw new IllegalStateException(e);
              }
            }));
    armed.countDown();
    assertThat(poller.catchUp(Deadline.in(Duration.ofSeconds(10)))).isTrue();
  }

  @Test
  void aPollerThatHangsOrIsClosedDoesNotCatchUp() throws Exception {
    var hold = new CountDownLatch(1);
    Fd gate = Fd.event(scope);
    poller.watch(scope, gate, Interest.READ, () -> awaitQuietly(hold));
    raise(gate);
    assertThat(poller.catchUp(Deadline.in(Duration.ofMillis(50)))).isFalse();
    hold.countDown();
    var owner = new Scope();
    Poller other = Poller.start(owner, "other-poller");
    owner.close();
    assertThat(other.catchUp(Deadline.in(Duration.ofSeconds(10)))).isFalse();
  }
}
