package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

final class HistoryTest {
  private static final Instant NOW = Instant.parse("2026-11-16T12:00:00Z");

  /** A box that ended this many minutes ago. */
  private static List<Integer> expired(History history, Integer... minutes) {
    return history.expired(List.of(minutes), each -> NOW.minus(Duration.ofMinutes(each)), NOW);
  }

  @Test
  void theLatestAreKeptWhateverTheirOrder() {
    assertThat(expired(new History(2, Duration.ofDays(1)), 3, 1, 4, 2)).containsExactly(3, 4);
  }

  @Test
  void noBoxIsKeptForLonger() {
    assertThat(expired(new History(100, Duration.ofMinutes(10)), 11, 9, 10, 12))
        .containsExactly(11, 12);
  }

  @Test
  void whicheverIsLess() {
    assertThat(expired(new History(1, Duration.ofMinutes(10)), 5, 20, 6)).containsExactly(6, 20);
    assertThat(expired(new History(2, Duration.ofMinutes(10)), 5, 20, 30)).containsExactly(20, 30);
  }

  @Test
  void theHistoryNamedAllForgetsNothing() {
    assertThat(expired(History.ALL, 1, 1_000_000)).isEmpty();
    assertThat(expired(new History(0, Duration.ZERO))).isEmpty();
  }
}
