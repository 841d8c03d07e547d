package dev.ebb.server.rest;

import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.util.Map;

/** The metrics for Prometheus: for admins, and for keys of a tenant reserved for this. */
final class MetricsRoute {
  private static final String TEXT = "text/plain";
  private static final String OPEN_METRICS = "application/openmetrics-text";

  private static final Operation SCRAPE =
      Operation.of("getMetrics", "What Prometheus scrapes")
          .answersText(200, "in Prometheus' text format, or OpenMetrics if asked for", TEXT)
          .answersText(200, "", OPEN_METRICS)
          .fails(Problem.Code.NOT_ACCEPTABLE)
          .needs(Right.METRICS);

  private final Metrics metrics;

  MetricsRoute(Metrics metrics, String version) {
    this.metrics = metrics;
    metrics.gauge("ebb_build_info", "1, for the version.", "version", () -> Map.of(version, 1.0));
  }

  Route route() {
    return Route.of("GET", "/metrics", this::scrape, SCRAPE);
  }

  private void scrape(Exchange exchange) throws IOException {
    boolean isOpenMetrics = exchange.negotiate(TEXT, OPEN_METRICS).equals(OPEN_METRICS);
    Metrics.Page page = metrics.page(isOpenMetrics);
    exchange.answer(200, page.type(), page.text());
  }
}
