package dev.ebb.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class TimesToGoneTest {
  private static List<Duration> upTo(int millis) {
    return LongStream.rangeClosed(1, millis).mapToObj(Duration::ofMillis).toList();
  }

  @Test
  void aQuantileIsTheSmallestThatTheShareDoesNotExceed() {
    assertThat(TimesToGone.quantile(upTo(100), 0.50)).isEqualTo(Duration.ofMillis(50));
    assertThat(TimesToGone.quantile(upTo(100), 0.99)).isEqualTo(Duration.ofMillis(99));
    assertThat(TimesToGone.quantile(upTo(100), 1)).isEqualTo(Duration.ofMillis(100));
    assertThat(TimesToGone.quantile(upTo(1), 0.50)).isEqualTo(Duration.ofMillis(1));
    assertThat(TimesToGone.quantile(List.of(), 0.50)).isZero();
  }

  @Test
  void boxesAreGroupedBySize() {
    var times = new TimesToGone();
    List.of(0, 1, 2, 10, 11, 100, 101, 5000)
        .forEach(processes -> times.add(processes, Duration.ofMillis(processes)));
    assertThat(times.rows()).extracting(TimesToGone.Row::count).containsExactly(2, 2, 2, 2);
    assertThat(times.rows().getLast().most()).isEqualTo(Duration.ofSeconds(5));
  }
}
