package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Poller.Interest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReadinessTest {
  private static final Deadline NOW = Deadline.in(Duration.ZERO);

  private final Scope scope = new Scope();
  private Poller poller;
  private Fd.Pipe pipe;

  @BeforeEach
  void open() throws KernelException {
    poller = Poller.start(scope, "readiness-poller");
    pipe = Fd.pipe(scope, scope);
    pipe.read().nonBlocking();
    pipe.write().nonBlocking();
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  private static Deadline soon() {
    return Deadline.in(Duration.ofSeconds(10));
  }

  @Test
  void itIsFalseWhenTheDeadlineComesFirst() throws Exception {
    var readable = new Readiness(scope, poller, pipe.read(), Interest.READ);
    assertThat(readable.await(NOW)).isFalse();
    pipe.write().write("x");
    assertThat(readable.await(soon())).isTrue();
  }

  @Test
  void itFallsSilentUntilItIsArmedAgain() throws Exception {
    var readable = new Readiness(scope, poller, pipe.read(), Interest.READ);
    pipe.write().write("x");
    assertThat(readable.await(soon())).isTrue();
    assertThat(readable.await(NOW)).isFalse();
    readable.arm();
    assertThat(readable.await(soon())).isTrue();
  }

  @Test
  void anEventBeforeArmingDoesNotLoseTheNextOne() throws Exception {
    var writable = new Readiness(scope, poller, pipe.write(), Interest.WRITE);
    byte[] chunk = new byte[1 << 16];
    awaitDispatch();
    // Works like a writer: arm, try, wait.
    writable.arm();
    assertThat(pipe.write().write(chunk, 0, chunk.length)).isEqualTo(chunk.length);
    writable.arm();
    assertThat(pipe.write().write(chunk, 0, 1)).isEqualTo(-1);
    assertThat(pipe.read().read(chunk, 0, chunk.length)).isEqualTo(chunk.length);
    assertThat(writable.await(soon())).isTrue();
  }

  /** The poller has run every handler that was due before. */
  private void awaitDispatch() throws Exception {
    for (int i = 0; i < 2; i++) {
      try (var brief = new Scope()) {
        var passed = new CompletableFuture<Boolean>();
        var other = Fd.pipe(brief, brief);
        poller.watch(brief, other.write(), Interest.WRITE, () -> passed.complete(true));
        passed.get(10, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void closingWakesWaitingThreads() throws Exception {
    var readable = new Readiness(scope, poller, pipe.read(), Interest.READ);
    var woken = new CompletableFuture<Boolean>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    woken.complete(readable.await(soon()));
                  } catch (InterruptedException e) {
                    woken.completeExceptionally(e);
                  }
                });
    Awaitility.await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
    scope.release(readable);
    assertThat(woken.get(10, TimeUnit.SECONDS)).isTrue();
    readable.arm();
  }

  @Test
  void whatWasReadyInTimeIsNoticedHoweverLateThePollerIs() throws Exception {
    var readable = new Readiness(scope, poller, pipe.read(), Interest.READ);
    var isLate = new CountDownLatch(1);
    var gate = new CompletableFuture<Boolean>();
    try {
      poller.execute(
          () -> {
            isLate.countDown();
            gate.join();
          });
      assertThat(isLate.await(10, TimeUnit.SECONDS)).isTrue();
      pipe.write().write("x");
      assertThat(readable.await(NOW)).as("without the poller").isFalse();
      var noticed = new FutureTask<>(() -> readable.awaitSurely(NOW));
      Thread waiter = Thread.ofPlatform().start(noticed);
      Awaitility.await()
          .until(() -> noticed.isDone() || waiter.getState() == Thread.State.TIMED_WAITING);
      gate.complete(true);
      assertThat(noticed.get(10, TimeUnit.SECONDS)).isTrue();
    } finally {
      gate.complete(true);
    }
  }

  @Test
  void waitingCanBeInterrupted() throws Exception {
    var readable = new Readiness(scope, poller, pipe.read(), Interest.READ);
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> readable.await(soon())).isInstanceOf(InterruptedException.class);
  }
}
