package dev.ebb.server.rest;

import static dev.ebb.server.schema.Values.COUNT;
import static dev.ebb.server.schema.Values.FLAG;
import static dev.ebb.server.schema.Values.INTEGER;
import static dev.ebb.server.schema.Values.MILLIS;
import static dev.ebb.server.schema.Values.NUMBER;
import static dev.ebb.server.schema.Values.TEXT;
import static dev.ebb.server.schema.Values.TIME;

import dev.ebb.admission.Admission;
import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.Cleaned;
import dev.ebb.admission.Cleanup;
import dev.ebb.admission.Cost;
import dev.ebb.admission.DescriptorKind;
import dev.ebb.admission.PressureLevel;
import dev.ebb.admission.PressureSettings;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Readings;
import dev.ebb.admission.Refusal;
import dev.ebb.admission.Resource;
import dev.ebb.admission.Thresholds;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The answers about pressure. */
final class PressureAnswers {
  private PressureAnswers() {}

  /** How near the limits are now. */
  record Now(
      Readings readings,
      PressureSettings settings,
      Admission.State admission,
      BaselineWatch.State baseline,
      Optional<Cleaned> lastCleanup) {
    static Now of(Watches watches) {
      var watch = watches.pressure();
      return new Now(
          watch.fresh(),
          watch.settings(),
          watch.admission().state(),
          watches.baseline().state(),
          watch.lastCleanup());
    }
  }

  private static final Value<PressureLevel> LEVEL =
      Values.words(PressureLevel.values(), PressureLevel::wireName);
  private static final Value<Map<String, Number>> NUMBERS = Values.map(INTEGER);

  private static final ObjectSchema<Reading> GAUGE =
      ObjectSchema.<Reading>named("Gauge")
          .has("resource", Values.words(Resource.values(), Resource::wireName), Reading::resource)
          .has("use", COUNT, Reading::use)
          .may("limit", COUNT.described("absent: none"), PressureAnswers::limit)
          .has("source", TEXT.described("where the limit comes from"), Reading::source)
          .has("percent", NUMBER, reading -> Math.round(reading.percent() * 10) / 10.0)
          .has("level", LEVEL, Reading::level);

  private static Optional<Long> limit(Reading reading) {
    return reading.hasLimit() ? Optional.of(reading.limit()) : Optional.empty();
  }

  private static final ObjectSchema<Thresholds> THRESHOLDS =
      ObjectSchema.<Thresholds>inline()
          .has("warn", NUMBER, Thresholds::warn)
          .has("alert", NUMBER, Thresholds::alert)
          .has("full", NUMBER, Thresholds::full);

  private static final ObjectSchema<Cost> RESERVED =
      ObjectSchema.<Cost>inline()
          .has("pids", COUNT, Cost::pids)
          .has("descriptors", COUNT, Cost::descriptors);

  private static final ObjectSchema<Now> ADMISSION =
      ObjectSchema.<Now>inline()
          .has("waiting", COUNT, now -> now.admission().waiting())
          .has("beginning", COUNT, now -> now.admission().making())
          .has("queue", COUNT, now -> now.settings().queue())
          .has("waitMillis", MILLIS, now -> now.settings().patience())
          .has("reserved", RESERVED, now -> now.admission().reserved())
          .has("refusals", NUMBERS, PressureAnswers::refusals);

  private static Map<String, Number> refusals(Now now) {
    var refusals = new LinkedHashMap<String, Number>();
    for (Refusal.Reason reason : Refusal.Reason.values()) {
      refusals.put(reason.wireName(), now.admission().refusals().getOrDefault(reason, 0L));
    }
    return refusals;
  }

  private static final ObjectSchema<BaselineWatch.State> BASELINE =
      ObjectSchema.<BaselineWatch.State>inline()
          .has("learned", FLAG, BaselineWatch.State::learned)
          .has("alarm", FLAG, BaselineWatch.State::alarm)
          .has("idle", NUMBERS, state -> new TreeMap<>(state.baseline()))
          .has("excess", NUMBERS, state -> new TreeMap<>(state.excess()));

  private static final ObjectSchema<Cleaned.Step> STAGE =
      ObjectSchema.<Cleaned.Step>inline()
          .has(
              "stage",
              Values.words(Cleanup.Stage.values(), Cleanup.Stage::wireName),
              Cleaned.Step::stage)
          .has("released", COUNT, Cleaned.Step::released)
          .has("use", COUNT, Cleaned.Step::use);

  private static final ObjectSchema<Cleaned> CLEANED =
      ObjectSchema.<Cleaned>inline()
          .has("at", TIME, Cleaned::at)
          .has("durationMillis", MILLIS, Cleaned::took)
          .has("resource", TEXT, cleaned -> cleaned.before().resource().wireName())
          .has("useBefore", COUNT, cleaned -> cleaned.before().use())
          .has("useAfter", COUNT, cleaned -> cleaned.after().use())
          .has("stages", Values.list(STAGE), Cleaned::stages);

  static final ObjectSchema<Now> PRESSURE =
      ObjectSchema.<Now>named("Pressure")
          .has("level", LEVEL, now -> now.readings().level())
          .has("at", TIME, now -> now.readings().at())
          .has("tookMicros", COUNT, now -> now.readings().took().toNanos() / 1000)
          .has("thresholds", THRESHOLDS, now -> now.settings().thresholds())
          .has("gauges", Values.list(GAUGE), now -> now.readings().readings())
          .has("descriptors", NUMBERS, now -> descriptors(now.readings()))
          .has("admission", ADMISSION, now -> now)
          .has("baseline", BASELINE, Now::baseline)
          .may("lastCleanup", CLEANED, Now::lastCleanup);

  private static Map<String, Number> descriptors(Readings readings) {
    var kinds = new LinkedHashMap<String, Number>();
    for (DescriptorKind kind : DescriptorKind.values()) {
      kinds.put(kind.wireName(), readings.descriptors().getOrDefault(kind, 0));
    }
    return kinds;
  }
}
