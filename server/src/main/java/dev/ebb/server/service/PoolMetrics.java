package dev.ebb.server.service;

import dev.ebb.model.Fate;
import dev.ebb.model.PoolState;
import dev.ebb.pool.WarmPool;
import dev.ebb.server.metrics.Metrics;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Metrics of a pool, by the interpreter that waits in its boxes. */
record PoolMetrics(WarmPool pool) {
  private static final String PLAIN = "none";

  void measure(Metrics metrics) {
    metrics.gauge(
        "ebb_pool_size", "Boxes that wait.", "interpreter", () -> kinds(PoolState.Kind::size));
    metrics.gauge(
        "ebb_pool_target",
        "Boxes that should wait.",
        "interpreter",
        () -> kinds(PoolState.Kind::target));
    metrics.gauge(
        "ebb_pool_awake",
        "1 while boxes are kept, 0 while none is because none was requested for long.",
        "interpreter",
        () -> kinds(kind -> kind.asleep() ? 0 : 1));
    metrics.gauge(
        "ebb_pool_preloaded_modules",
        "Modules that python imports before it waits.",
        () -> pool.state().preloaded().size());
    metrics.gauge(
        "ebb_pool_age_seconds",
        "How long the oldest has waited.",
        "interpreter",
        () -> kinds(kind -> kind.oldest().toNanos() / 1e9));
    metrics.counter(
        "ebb_pool_hits_total",
        "Boxes that were handed out.",
        "interpreter",
        () -> kinds(PoolState.Kind::hits));
    metrics.counter(
        "ebb_pool_misses_total",
        "Orders that found none.",
        "interpreter",
        () -> kinds(PoolState.Kind::misses));
    metrics.counter(
        "ebb_pool_destroyed_total",
        "Pooled boxes destroyed before they were handed out, by reason.",
        "reason",
        this::destroyed);
  }

  private Map<String, Double> kinds(ToDoubleFunction<PoolState.Kind> value) {
    var values = new LinkedHashMap<String, Double>();
    // Present even when zero, so that a dashboard shows it.
    values.put(PLAIN, 0.0);
    for (PoolState.Kind kind : pool.state().kinds()) {
      values.put(
          kind.interpreter().isEmpty() ? PLAIN : kind.interpreter(), value.applyAsDouble(kind));
    }
    return values;
  }

  private Map<String, Double> destroyed() {
    var counts = pool.state().destroyed();
    var values = new LinkedHashMap<String, Double>();
    for (Fate fate : Fate.values()) {
      values.put(fate.wireName(), (double) counts.getOrDefault(fate, 0L));
    }
    return values;
  }
}
