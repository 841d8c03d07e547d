package dev.ebb.server.service;

import dev.ebb.egress.Egress;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxState;
import dev.ebb.server.metrics.Metrics;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/** The metrics of all boxes, their commands and their proxy. */
final class BoxMetrics {
  private final Facilities facilities;
  private final BoxList list;
  private final Endings endings;

  BoxMetrics(Facilities facilities, BoxList list, Endings endings) {
    this.facilities = facilities;
    this.list = list;
    this.endings = endings;
  }

  void measure() {
    Metrics metrics = facilities.metrics();
    metrics.gauge(
        "ebb_kept_bytes",
        "Memory of the daemon that is kept on behalf of tenants.",
        facilities.memory()::used);
    metrics.gauge(
        "ebb_boxes", "Boxes that the daemon knows of, by their state.", "state", this::byState);
    metrics.gauge("ebb_execs_running", "Commands that run.", this::running);
    metrics.gauge(
        "ebb_releases_aside", "Boxes that are removed after the answer.", endings::asyncCount);
    measureFaults(metrics, facilities.engine());
    measureEgress(metrics, facilities.engine().egress());
  }

  private static void measureFaults(Metrics metrics, Engine engine) {
    metrics.counter(
        "ebb_leaks_total",
        "Cgroups that were busy when they should have been empty; 0 in a healthy system.",
        engine::leaks);
    metrics.counter(
        "ebb_strangers_killed_total",
        "Boxes and commands in whose cgroup there was a process from outside; 0 in a healthy"
            + " system.",
        engine::strangers);
  }

  private static void measureEgress(Metrics metrics, Egress egress) {
    metrics.gauge(
        "ebb_egress_connections", "Connections of boxes to their proxy.", egress::connections);
    metrics.counter(
        "ebb_egress_requests_total",
        "Requests of boxes to their proxy, by outcome.",
        "outcome",
        () -> requests(egress));
    metrics.counter(
        "ebb_egress_bytes_total",
        "Bytes that went through the proxy of boxes.",
        "direction",
        () -> Map.of("sent", (double) egress.sent(), "received", (double) egress.received()));
  }

  private static Map<String, Double> requests(Egress egress) {
    var counts = new LinkedHashMap<String, Double>();
    egress.decisions().forEach((each, count) -> counts.put(each.wireName(), (double) count));
    return counts;
  }

  /** Every state has a value, so none is missing on a dashboard. */
  private Map<String, Double> byState() {
    var counts = new LinkedHashMap<String, Double>();
    for (BoxState state : BoxState.values()) {
      counts.put(state.wireName(), 0.0);
    }
    Stream.concat(list.all().map(TenantBox::state), list.ended().map(EndedBox::state))
        .forEach(state -> counts.merge(state.wireName(), 1.0, Double::sum));
    return counts;
  }

  private double running() {
    return list.all().mapToLong(TenantBox::running).sum();
  }
}
