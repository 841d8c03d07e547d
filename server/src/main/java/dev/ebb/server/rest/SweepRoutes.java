package dev.ebb.server.rest;

import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.Sweeper;
import dev.ebb.supervision.Recovery.Finding;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** What a sweep of the host found, and a new one. For admins: it shows what is anybody's. */
final class SweepRoutes {
  private final Sweeper sweeper;

  SweepRoutes(Sweeper sweeper) {
    this.sweeper = sweeper;
  }

  List<Route> routes() {
    return List.of(
        Route.of("GET", "/v1/sweep", this::totals),
        Route.of("POST", "/v1/sweep", this::sweep, "dryRun"));
  }

  private void totals(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    Sweeper.Totals totals = sweeper.totals();
    var document =
        Documents.object(
            "intervalMillis", totals.interval().toMillis(),
            "sweeps", totals.sweeps(),
            "found", Documents.counts(totals.found()),
            "recovered", Documents.counts(totals.recovered()));
    totals.last().ifPresent(last -> document.put("last", document(last)));
    exchange.answer(200, document);
  }

  private void sweep(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    exchange.answer(200, document(sweeper.sweep(exchange.flag("dryRun", false))));
  }

  private static Map<String, Object> document(Sweeper.Sweep sweep) {
    return Documents.object(
        "at", sweep.at().toString(),
        "durationMillis", sweep.took().toMillis(),
        "dryRun", sweep.dryRun(),
        "stuck", sweep.stuck(),
        "findings", sweep.findings().map(SweepRoutes::finding).toList());
  }

  private static Map<String, Object> finding(Finding finding) {
    return Documents.object(
        "instance", finding.instance(),
        "kind", finding.kind().word(),
        "subject", finding.subject(),
        "fate", finding.fate().word(),
        "reason", finding.fate().reason());
  }
}
