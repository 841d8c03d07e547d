package dev.ebb.admission;

import static dev.ebb.admission.PressureLevel.ALERT;
import static dev.ebb.admission.PressureLevel.FULL;
import static dev.ebb.admission.PressureLevel.OK;
import static dev.ebb.admission.PressureLevel.WARN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ThresholdsTest {
  private static List<PressureLevel> levels(double... percents) {
    var levels = new ArrayList<PressureLevel>();
    PressureLevel level = OK;
    for (double percent : percents) {
      level = Thresholds.DEFAULT.level(percent, level);
      levels.add(level);
    }
    return levels;
  }

  @Test
  void aLevelIsEnteredAtItsThreshold() {
    assertThat(levels(0, 59.9, 60, 79.9, 80, 94.9, 95, 200))
        .containsExactly(OK, OK, WARN, WARN, ALERT, ALERT, FULL, FULL);
  }

  @Test
  void aLevelIsLeftOnlySomePercentBelowItsThreshold() {
    assertThat(levels(80, 79, 75, 74.9, 60, 55, 54.9))
        .containsExactly(ALERT, ALERT, ALERT, WARN, WARN, WARN, OK);
  }

  @Test
  void aValueThatHoversAroundAThresholdEntersItOnce() {
    assertThat(levels(79, 81, 79, 81, 79, 81))
        .containsExactly(WARN, ALERT, ALERT, ALERT, ALERT, ALERT);
  }

  @Test
  void comingFromBelowNothingIsKept() {
    assertThat(levels(10, 58, 78, 93)).containsExactly(OK, OK, WARN, ALERT);
  }

  @Test
  void aLongFallLeavesAllLevelsAtOnce() {
    assertThat(levels(99, 10)).containsExactly(FULL, OK);
    assertThat(levels(99, 78)).containsExactly(FULL, ALERT);
  }

  @ParameterizedTest
  @CsvSource({"80, 60, 95, 5", "60, 80, 101, 5", "0, 80, 95, 5", "60, 60, 95, 5", "60, 80, 95, 60"})
  void thresholdsThatDoNotRiseAreRefused(double warn, double alert, double full, double below) {
    assertThatIllegalArgumentException().isThrownBy(() -> new Thresholds(warn, alert, full, below));
  }
}
