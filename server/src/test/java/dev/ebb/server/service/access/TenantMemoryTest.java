package dev.ebb.server.service.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.FutureTask;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TenantMemoryTest {
  private final TenantMemory memory = new TenantMemory(120);

  private static void assertRefused(ErrorCode code, ThrowingCallable claim) {
    assertThatThrownBy(claim)
        .isInstanceOfSatisfying(SandboxException.class, e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void oneTenantHasHalfAndTheNextStillHasRoom() {
    memory.claim("a", 60);
    assertRefused(ErrorCode.QUOTA, () -> memory.claim("a", 1));
    memory.claim("b", 30);
    assertRefused(ErrorCode.PRESSURE, () -> memory.claim("b", 1));
    memory.claim("c", 15);
    assertThat(memory.used()).isEqualTo(105);
    assertThat(memory.used("b")).isEqualTo(30);
  }

  @Test
  void aClaimThatCanNeverFitIsReportedAsTooLarge() {
    assertRefused(ErrorCode.TOO_LARGE, () -> memory.claim("a", 61));
    assertThat(memory.used()).isZero();
  }

  @Test
  void everyClaimIsReleasedOnce() {
    var claim = memory.claim("a", 50);
    claim.add(5);
    var part = claim.split(20);
    claim.shrinkTo(10);
    assertThat(memory.used("a")).isEqualTo(30);
    claim.close();
    claim.close();
    assertThat(memory.used("a")).isEqualTo(20);
    assertThat(claim.tryAdd(1)).as("a closed claim keeps nothing").isFalse();
    part.giveBackSome(5);
    assertThat(memory.used("a")).isEqualTo(15);
    part.giveBackSome(50);
    part.close();
    assertThat(memory.used()).isZero();
  }

  @Test
  void dispensableMemoryGoesBeforeAClaimIsRefused() {
    var ended = memory.claim("a", 60);
    var asked = new ArrayList<String>();
    memory.whenShort(
        tenant -> {
          asked.add(tenant);
          ended.close();
        });
    memory.claim("a", 10);
    assertThat(asked).containsExactly("a");
    assertThat(memory.used("a")).isEqualTo(10);
  }

  @Test
  void aWaitingRequestIsAdmittedWhenThereIsRoom() throws Exception {
    var first = memory.claim("a", 60);
    var second = memory.claim("a");
    assertThat(second.tryAdd(1, Duration.ofMillis(1))).isFalse();
    assertThat(second.tryAdd(61, Duration.ofHours(1))).as("never").isFalse();
    var waiting = new FutureTask<>(() -> second.tryAdd(60, Duration.ofHours(1)));
    Thread waiter = Thread.ofPlatform().name("waiter").start(waiting);
    await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
    first.close();
    assertThat(waiting.get()).isTrue();
    second.close();
    assertThat(memory.used()).isZero();
  }

  @Test
  void workThatMayWaitForItsClientIsDoneOneAtATimeForATenant() throws Exception {
    var first = memory.claim("a").place(Duration.ZERO);
    try (var _ = memory.claim("b").place(Duration.ofHours(1));
        var _ = memory.claim("a").place(Duration.ofMillis(1))) {
      // Another tenant has a place of its own, and a slow client holds nothing up for long.
    }
    var waiting =
        new FutureTask<>(
            () -> {
              memory.claim("a").place(Duration.ofHours(1)).close();
              return true;
            });
    Thread waiter = Thread.ofPlatform().name("waiter").start(waiting);
    await().until(() -> waiter.getState() == Thread.State.TIMED_WAITING);
    first.close();
    assertThat(waiting.get()).isTrue();
  }
}
