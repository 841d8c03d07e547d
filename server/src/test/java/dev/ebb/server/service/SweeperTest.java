package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** How long a sweeper waits. */
class SweeperTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private static Duration pause(int stuckInARow, double random) {
    RandomGenerator fixed =
        new RandomGenerator() {
          @Override
          public long nextLong() {
            return 0;
          }

          @Override
          public double nextDouble() {
            return random;
          }
        };
    return Sweeper.pause(MINUTE, stuckInARow, fixed);
  }

  @Test
  void aboutAnInterval() {
    assertThat(pause(0, 0)).isEqualTo(Duration.ofSeconds(48));
    assertThat(pause(0, 0.5)).isEqualTo(MINUTE);
    assertThat(pause(0, 1)).isEqualTo(Duration.ofSeconds(72));
  }

  @Test
  void soonerWhileSomethingIsStuckAndLaterEachTime() {
    assertThat(pause(1, 0.5)).isEqualTo(Duration.ofSeconds(5));
    assertThat(pause(2, 0.5)).isEqualTo(Duration.ofSeconds(10));
    assertThat(pause(5, 0.5)).isEqualTo(MINUTE);
    assertThat(pause(1_000_000, 0.5)).isEqualTo(MINUTE);
  }

  @Test
  void neverLongerThanTheInterval() {
    assertThat(new Backoff(Duration.ofSeconds(5), Duration.ofSeconds(1)).after(1))
        .isEqualTo(Duration.ofSeconds(1));
  }
}
