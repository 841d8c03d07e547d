package dev.ebb.admission;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * The results of all gauges at one time.
 *
 * @param took how long the reading took
 * @param readings one a resource, in their order
 * @param descriptors of this process by kind
 */
public record Readings(
    Instant at, Duration took, List<Reading> readings, Map<DescriptorKind, Integer> descriptors) {

  public Readings {
    readings = List.copyOf(readings);
    descriptors = Map.copyOf(descriptors);
  }

  /** Returns the reading that is nearest to its limit. */
  public Reading worst() {
    return readings.stream()
        .max(Comparator.comparing(Reading::level).thenComparingDouble(Reading::percent))
        .orElseThrow();
  }

  /** Returns how many of this cost fit into one of {@code part} equal parts of every limit. */
  int fitting(Cost each, int part) {
    return (int)
        readings.stream()
            .filter(reading -> reading.hasLimit() && each.of(reading.resource()) > 0)
            .mapToLong(reading -> reading.limit() / part / each.of(reading.resource()))
            .min()
            .stream()
            .map(fitting -> Math.min(fitting, Integer.MAX_VALUE))
            .findFirst()
            .orElse(Integer.MAX_VALUE);
  }

  public PressureLevel level() {
    return worst().level();
  }

  public Reading of(Resource resource) {
    return readings.stream().filter(each -> each.resource() == resource).findFirst().orElseThrow();
  }
}
