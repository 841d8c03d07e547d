package dev.ebb.server.pressure;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.DescriptorKind;
import dev.ebb.admission.PressureLevel;
import dev.ebb.admission.PressureWatch;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Readings;
import dev.ebb.admission.Refusal;
import dev.ebb.server.metrics.Metrics;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Exports the state of the pressure watch to Prometheus. */
public final class PressureMetrics {
  private PressureMetrics() {}

  public static void register(Metrics metrics, PressureWatch watch, BaselineWatch baseline) {
    watch.time(metrics::queued);
    String label = "resource";
    metrics.gauge(
        "ebb_resource_used", "How much is used.", label, () -> each(watch.latest(), Reading::use));
    metrics.gauge(
        "ebb_resource_limit",
        "The nearest of all limits; +Inf where there is none.",
        label,
        () -> each(watch.latest(), PressureMetrics::limit));
    metrics.gauge(
        "ebb_resource_level",
        "0 ok, 1 warn, 2 alert, 3 full.",
        label,
        () -> each(watch.latest(), reading -> number(reading.level())));
    metrics.gauge(
        "ebb_descriptors",
        "Open descriptors of the daemon.",
        "kind",
        () -> descriptors(watch.latest()));
    metrics.gauge(
        "ebb_queue_waiting",
        "Requests that wait for room.",
        () -> watch.admission().state().waiting());
    metrics.counter(
        "ebb_admission_refusals_total",
        "What was not begun for want of room.",
        "reason",
        () -> refusals(watch));
    metrics.gauge(
        "ebb_baseline_alarm",
        "1 while the idle daemon has more descriptors or threads than it had; healthy: 0.",
        () -> baseline.state().alarm() ? 1 : 0);
  }

  private static double number(PressureLevel level) {
    return switch (level) {
      case OK -> 0;
      case WARN -> 1;
      case ALERT -> 2;
      case FULL -> 3;
    };
  }

  private static double limit(Reading reading) {
    return reading.hasLimit() ? reading.limit() : Double.POSITIVE_INFINITY;
  }

  private static Map<String, Double> each(Readings readings, ToDoubleFunction<Reading> value) {
    var values = new LinkedHashMap<String, Double>();
    for (Reading reading : readings.readings()) {
      values.put(reading.resource().wireName(), value.applyAsDouble(reading));
    }
    return values;
  }

  private static Map<String, Double> descriptors(Readings readings) {
    var counts = new LinkedHashMap<String, Double>();
    for (DescriptorKind kind : DescriptorKind.values()) {
      counts.put(kind.wireName(), readings.descriptors().getOrDefault(kind, 0).doubleValue());
    }
    return counts;
  }

  private static Map<String, Double> refusals(PressureWatch watch) {
    var known = watch.admission().state().refusals();
    var counts = new LinkedHashMap<String, Double>();
    for (Refusal.Reason reason : Refusal.Reason.values()) {
      counts.put(reason.wireName(), known.getOrDefault(reason, 0L).doubleValue());
    }
    return counts;
  }
}
