package dev.ebb.server.service.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuotasTest {
  @TempDir Path home;

  private static final Quota TEN_BOXES = Quota.NONE.with(Quota.Kind.BOXES, "10");

  @Test
  void aKindWithoutAQuotaOfTheTenantHasTheDefault() {
    var quotas = new Quotas(home, TEN_BOXES.with(Quota.Kind.MEMORY, "1g"));
    quotas.set("a", Quota.NONE.with(Quota.Kind.BOXES, "3"));
    assertThat(quotas.of("a")).hasToString("boxes=3 memory=1073741824");
    assertThat(quotas.of("b")).hasToString("boxes=10 memory=1073741824");
  }

  @Test
  void aRunningDaemonSeesWhatAnotherProcessSetAtOnce() {
    var daemon = new Quotas(home, Quota.NONE);
    var command = new Quotas(home, Quota.NONE);
    assertThat(daemon.of("a")).isEqualTo(Quota.NONE);
    for (int i = 1; i < 20; i++) {
      command.set("a", Quota.NONE.with(Quota.Kind.BOXES, Integer.toString(i % 10)));
      assertThat(daemon.of("a")).hasToString("boxes=" + i % 10);
    }
    assertThat(command.remove("a")).isTrue();
    assertThat(command.remove("a")).isFalse();
    assertThat(daemon.list()).isEmpty();
  }

  @Test
  void onlyTheOwnerCanReadThem() throws Exception {
    new Quotas(home, Quota.NONE).set("a", TEN_BOXES);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(home.resolve("quotas"))))
        .isEqualTo("rw-------");
  }

  @Test
  void theLastThatFitsIsAcceptedAndTheNextGetsAReason() {
    assertThatCode(() -> TEN_BOXES.check(Quota.Kind.BOXES, 9, 1)).doesNotThrowAnyException();
    assertThatCode(() -> TEN_BOXES.check(Quota.Kind.PIDS, 1e9, 1)).doesNotThrowAnyException();
    var refusal =
        catchThrowableOfType(
            SandboxException.class, () -> TEN_BOXES.check(Quota.Kind.BOXES, 10, 1));
    assertThat(refusal.code()).isEqualTo(ErrorCode.QUOTA);
    assertThat(refusal).hasMessage("the quota of boxes is 10, and 10 is used");
    assertThat(refusal.facts()).containsEntry("quota", "boxes");
    assertThat(refusal.retryAfter()).isPositive();
  }

  @ParameterizedTest
  @CsvSource({"BOXES, 1.5", "BOXES, -1", "MEMORY, much", "RATE, x", "PIDS, ''"})
  void nonsenseIsRefused(Quota.Kind kind, String text) {
    assertThatThrownBy(() -> Quota.NONE.with(kind, text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(kind.wireName());
  }

  @Test
  void aBucketGivesItsRateAndSaysWhenToRetry() {
    var bucket = new Bucket();
    long now = 1_000_000_000L;
    for (int i = 0; i < 5; i++) {
      assertThat(bucket.take(5, now)).isEmpty();
    }
    assertThat(bucket.take(5, now)).contains(Duration.ofMillis(200));
    now += TimeUnit.MILLISECONDS.toNanos(201);
    assertThat(bucket.take(5, now)).isEmpty();
    assertThat(bucket.take(5, now)).isPresent();
    now += TimeUnit.SECONDS.toNanos(60);
    for (int i = 0; i < 5; i++) {
      assertThat(bucket.take(5, now)).isEmpty();
    }
    assertThat(bucket.take(5, now)).isPresent();
  }

  @Test
  void requestsBeyondTheRateAreRefused() {
    var quotas = new Quotas(home, Quota.NONE.with(Quota.Kind.RATE, "0.01"));
    quotas.countRequest("a");
    quotas.countRequest("b");
    assertThatThrownBy(() -> quotas.countRequest("a"))
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("rate");
  }
}
