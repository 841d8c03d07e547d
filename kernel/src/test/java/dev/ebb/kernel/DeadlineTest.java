package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DeadlineTest {
  @Test
  void aDeadlineOfNothingIsOver() {
    assertThat(Deadline.in(Duration.ZERO).isOver()).isTrue();
    assertThat(Deadline.in(Duration.ofSeconds(-1)).remainingNanos()).isZero();
  }

  @Test
  void theLongestDurationIsForEverAndDoesNotOverflow() {
    var deadline = Deadline.in(Duration.ofSeconds(Long.MAX_VALUE));
    assertThat(deadline.isOver()).isFalse();
    assertThat(Duration.ofNanos(deadline.remainingNanos())).isGreaterThan(Duration.ofDays(25_000));
  }

  @Test
  void untilLooksOnceMoreAfterTheDeadline() {
    var looks = new AtomicInteger();
    assertThat(
            Deadline.in(Duration.ZERO)
                .until(Duration.ofMillis(1), () -> looks.incrementAndGet() == 1))
        .isTrue();
    assertThat(Deadline.in(Duration.ofMillis(5)).until(Duration.ofMillis(1), () -> false))
        .isFalse();
  }

  @Test
  void untilKeepsAnInterruptAndStillPauses() {
    var looks = new AtomicInteger();
    Thread.currentThread().interrupt();
    boolean isMet =
        Deadline.in(Duration.ofMillis(50))
            .until(Duration.ofMillis(10), () -> looks.incrementAndGet() < 0);
    assertThat(Thread.interrupted()).isTrue();
    assertThat(isMet).isFalse();
    assertThat(looks.get()).isLessThan(20);
  }

  @Test
  void anInterruptEndsUntilInterrupted() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> Deadline.never().untilInterrupted(Duration.ofMillis(1), () -> false))
        .isInstanceOf(InterruptedException.class);
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void aPauseAfterTheDeadlineIsRefused() {
    assertThat(Deadline.in(Duration.ZERO).pause(Duration.ofHours(1))).isFalse();
    assertThat(Deadline.never().pause(Duration.ofMillis(1))).isTrue();
  }
}
