package dev.ebb.torture.soak;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/** Finds what grows in a series of measurements. */
final class Trends {
  /** A thing that is counted is there or not. */
  private static final double COUNT = 0.5;

  /** A JVM's memory is never quite still, however often it collects. */
  private static final double MEMORY_SHARE = 0.10;

  private static final double MEMORY_LEAST = 16 << 20;
  private static final double STATE_BYTES = 4096;

  private Trends() {}

  static List<Trend> of(List<Measurement> measured) {
    var names = new LinkedHashSet<String>();
    measured.forEach(each -> names.addAll(each.values().keySet()));
    var trends = new ArrayList<Trend>();
    for (String name : names) {
      var runs = measured.stream().map(Measurement::runs).toList();
      var values = measured.stream().map(each -> each.values().getOrDefault(name, 0.0)).toList();
      trends.add(
          switch (name) {
            case Measurement.MEMORY ->
                new Trend(
                    name,
                    "bytes",
                    runs,
                    values,
                    Math.max(MEMORY_LEAST, MEMORY_SHARE * values.getLast()));
            case Measurement.STATE -> new Trend(name, "bytes", runs, values, STATE_BYTES);
            default -> new Trend(name, "", runs, values, COUNT);
          });
    }
    return trends;
  }
}
