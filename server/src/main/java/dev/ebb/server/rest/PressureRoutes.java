package dev.ebb.server.rest;

import dev.ebb.admission.Admission;
import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.Cleaned;
import dev.ebb.admission.DescriptorKind;
import dev.ebb.admission.PressureWatch;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Readings;
import dev.ebb.admission.Refusal;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Route;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How near the limits are. For admins: they are everybody's. */
final class PressureRoutes {
  private final Watches watches;

  PressureRoutes(Watches watches) {
    this.watches = watches;
  }

  List<Route> routes() {
    return List.of(Route.of("GET", "/v1/pressure", this::pressure));
  }

  private void pressure(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    PressureWatch watch = watches.pressure();
    Readings readings = watch.fresh();
    var thresholds = watch.settings().thresholds();
    var document =
        Documents.object(
            "level", readings.level().word(),
            "at", readings.at().toString(),
            "tookMicros", readings.took().toNanos() / 1000,
            "thresholds",
                Documents.object(
                    "warn", thresholds.warn(),
                    "alert", thresholds.alert(),
                    "full", thresholds.full()),
            "gauges", readings.readings().stream().map(PressureRoutes::gauge).toList(),
            "descriptors", descriptors(readings),
            "admission", admission(watch),
            "baseline", baseline(watches.baseline().state()));
    watch.lastCleanup().ifPresent(last -> document.put("lastCleanup", cleaned(last)));
    exchange.answer(200, document);
  }

  private static Map<String, Object> gauge(Reading reading) {
    var gauge = Documents.object("resource", reading.resource().word(), "use", reading.use());
    if (reading.hasLimit()) {
      gauge.put("limit", reading.limit());
    }
    gauge.put("source", reading.source());
    gauge.put("percent", Math.round(reading.percent() * 10) / 10.0);
    gauge.put("level", reading.level().word());
    return gauge;
  }

  private static Map<String, Object> descriptors(Readings readings) {
    var kinds = new LinkedHashMap<String, Object>();
    for (DescriptorKind kind : DescriptorKind.values()) {
      kinds.put(kind.word(), readings.descriptors().getOrDefault(kind, 0));
    }
    return kinds;
  }

  private static Map<String, Object> admission(PressureWatch watch) {
    Admission.State state = watch.admission().state();
    var refusals = new LinkedHashMap<String, Object>();
    for (Refusal.Reason reason : Refusal.Reason.values()) {
      refusals.put(reason.word(), state.refusals().getOrDefault(reason, 0L));
    }
    return Documents.object(
        "waiting", state.waiting(),
        "beginning", state.making(),
        "queue", watch.settings().queue(),
        "waitMillis", watch.settings().patience().toMillis(),
        "reserved",
            Documents.object(
                "pids", state.reserved().pids(), "descriptors", state.reserved().descriptors()),
        "refusals", refusals);
  }

  private static Map<String, Object> baseline(BaselineWatch.State state) {
    return Documents.object(
        "learned", state.learned(),
        "alarm", state.alarm(),
        "idle", state.baseline(),
        "excess", state.excess());
  }

  private static Map<String, Object> cleaned(Cleaned cleaned) {
    return Documents.object(
        "at", cleaned.at().toString(),
        "durationMillis", cleaned.took().toMillis(),
        "resource", cleaned.before().resource().word(),
        "useBefore", cleaned.before().use(),
        "useAfter", cleaned.after().use(),
        "stages",
            cleaned.stages().stream()
                .map(
                    step ->
                        Documents.object(
                            "stage", step.stage().wireName(),
                            "released", step.released(),
                            "use", step.use()))
                .toList());
  }
}
