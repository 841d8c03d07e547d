package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ProcessClockTest {
  private long now = Duration.ofDays(3).toNanos();
  private final ProcessClock clock = new ProcessClock(() -> now);
  private final long start = clock.look();

  private void pass(Duration time) {
    now += time.toNanos();
  }

  private Duration ran() {
    return Duration.ofNanos(clock.look() - start);
  }

  @Test
  void withoutABeatItIsTheSystemsClock() {
    pass(Duration.ofHours(1));
    assertThat(ran()).isEqualTo(Duration.ofHours(1));
    assertThat(clock.stood()).isZero();
  }

  @Test
  void timeBetweenBeatsCountsInFull() {
    clock.begin();
    for (int i = 0; i < 100; i++) {
      pass(ProcessClock.BEAT);
      clock.look();
    }
    assertThat(ran()).isEqualTo(ProcessClock.BEAT.multipliedBy(100));
    assertThat(clock.stood()).isZero();
  }

  @Test
  void aStopCountsNoMoreThanTheLongestGap() {
    clock.begin();
    pass(Duration.ofHours(10));
    assertThat(ran()).isEqualTo(ProcessClock.MOST);
    assertThat(clock.stood()).isEqualTo(Duration.ofHours(10).minus(ProcessClock.MOST));
    pass(Duration.ofMillis(300));
    assertThat(ran()).isEqualTo(ProcessClock.MOST.plusMillis(300));
  }

  @Test
  void itNeverGoesBack() {
    clock.begin();
    long last = start;
    for (int i = 0; i < 2000; i++) {
      pass(Duration.ofMillis(i));
      long next = clock.look();
      assertThat(next).isGreaterThanOrEqualTo(last);
      last = next;
    }
  }

  @Test
  void whatWasBeforeTheFirstBeatAndAfterTheLastCounts() {
    pass(Duration.ofMinutes(1));
    clock.begin();
    pass(Duration.ofMillis(500));
    clock.end();
    pass(Duration.ofMinutes(1));
    assertThat(ran()).isEqualTo(Duration.ofMinutes(2).plusMillis(500));
  }
}
