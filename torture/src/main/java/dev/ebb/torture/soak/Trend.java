package dev.ebb.torture.soak;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Something that was measured again and again, and must not grow.
 *
 * @param runs how many errands had been run at each measurement
 * @param tolerance how much it may seem to grow from the first to the last run
 */
record Trend(String name, String unit, List<Long> runs, List<Double> values, double tolerance) {
  /** The share of measurements to skip: until then a JVM compiles, and fills its caches. */
  private static final double WARM_UP = 1.0 / 3;

  Trend {
    runs = List.copyOf(runs);
    values = List.copyOf(values);
  }

  /**
   * By how much it grows over all runs, after warming up: the median of the slopes between any two
   * measurements (Theil and Sen), which a few that are far off do not move.
   */
  double growth() {
    int from = (int) (values.size() * WARM_UP);
    var slopes = new ArrayList<Double>();
    for (int i = from; i < values.size(); i++) {
      for (int j = i + 1; j < values.size(); j++) {
        slopes.add((values.get(j) - values.get(i)) / (runs.get(j) - runs.get(i)));
      }
    }
    return slopes.isEmpty() ? 0 : median(slopes) * runs.getLast();
  }

  private static double median(List<Double> numbers) {
    var sorted = new ArrayList<>(numbers);
    Collections.sort(sorted);
    int half = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(half)
        : (sorted.get(half - 1) + sorted.get(half)) / 2;
  }

  boolean isFlat() {
    return growth() <= tolerance;
  }

  double first() {
    return values.getFirst();
  }

  double last() {
    return values.getLast();
  }

  double most() {
    return Collections.max(values);
  }
}
