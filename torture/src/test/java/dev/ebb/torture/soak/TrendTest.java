package dev.ebb.torture.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrendTest {
  private static final int MEASUREMENTS = 50;
  private static final long A_ROUND = 20;

  private static Trend trend(double tolerance, IntToDoubleFunction value) {
    return new Trend(
        "it",
        "",
        IntStream.rangeClosed(1, MEASUREMENTS).mapToObj(i -> i * A_ROUND).toList(),
        IntStream.range(0, MEASUREMENTS).mapToObj(value::applyAsDouble).toList(),
        tolerance);
  }

  @Test
  void whatStaysIsFlat() {
    var still = trend(0.5, i -> 21);
    assertThat(still.growth()).isZero();
    assertThat(still.isFlat()).isTrue();
  }

  @Test
  void oneLostInEveryTenthRoundIsSeen() {
    var leak = trend(0.5, i -> 21 + i / 10);
    assertThat(leak.growth()).isCloseTo(5, within(1.0));
    assertThat(leak.isFlat()).isFalse();
  }

  @Test
  void aFewThatAreFarOffDoNotCount() {
    var random = new Random(1);
    var noisy = trend(0.5, i -> random.nextInt(10) == 0 ? 40 : 21);
    assertThat(noisy.isFlat()).isTrue();
  }

  @Test
  void warmingUpIsNoLeak() {
    var warming = trend(0.5, i -> 21 + Math.min(i, 10));
    assertThat(warming.isFlat()).isTrue();
  }

  @Test
  void whatShrinksIsNoLeak() {
    assertThat(trend(0.5, i -> 100 - i).isFlat()).isTrue();
  }

  @Test
  void oneMeasurementSaysNothing() {
    var once = new Trend("it", "", List.of(10L), List.of(3.0), 0.5);
    assertThat(once.growth()).isZero();
  }
}
