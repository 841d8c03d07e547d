package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class FakeClockTest {
  @Test
  void timePassesOnlyWhenATestAdvancesIt() {
    var clock = new FakeClock();
    var start = clock.instant();
    assertThat(clock.instant()).isEqualTo(start);
    clock.advance(Duration.ofSeconds(90));
    assertThat(clock.instant()).isEqualTo(start.plusSeconds(90));
  }
}
