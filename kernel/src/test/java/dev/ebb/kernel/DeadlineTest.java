package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
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
}
