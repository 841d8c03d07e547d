package dev.ebb.server.rest;

import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.Sweeper;
import dev.ebb.server.service.access.Right;
import dev.ebb.supervision.Recovery.Finding;
import java.io.IOException;
import java.util.List;

/**
 * The findings of the last sweep of the host, and a new sweep. For admins only: it shows all
 * tenants.
 */
final class SweepRoutes {
  private static final ObjectSchema<Finding> FINDING =
      ObjectSchema.<Finding>named("Finding")
          .has("instance", Values.TEXT, Finding::instance)
          .has("kind", Values.TEXT, finding -> finding.kind().wireName())
          .has("subject", Values.TEXT, Finding::subject)
          .has(
              "fate",
              Values.words(
                  "released",
                  "would release",
                  "stuck",
                  "missing",
                  "left alone",
                  "gone",
                  "kept for the next daemon"),
              finding -> finding.fate().wireName())
          .has("reason", Values.TEXT, finding -> finding.fate().reason());

  private static final ObjectSchema<Sweeper.Sweep> SWEEP =
      ObjectSchema.<Sweeper.Sweep>named("Sweep", "One comparison of the host with the ledger.")
          .has("at", Values.TIME, Sweeper.Sweep::at)
          .has("durationMillis", Values.MILLIS, Sweeper.Sweep::took)
          .has("dryRun", Values.FLAG, Sweeper.Sweep::dryRun)
          .has("stuck", Values.COUNT, Sweeper.Sweep::stuck)
          .has("findings", Values.list(FINDING), sweep -> sweep.findings().toList());

  private static final ObjectSchema<Sweeper.Totals> TOTALS =
      ObjectSchema.<Sweeper.Totals>named(
              "Sweeps",
              "All sweeps since the start. In a healthy system \"found\" is empty; \"recovered\""
                  + " is what dead runtimes left.")
          .has("intervalMillis", Values.MILLIS, Sweeper.Totals::interval)
          .has("sweeps", Values.COUNT, Sweeper.Totals::sweeps)
          .has("found", BoxAnswers.COUNTS, Sweeper.Totals::found)
          .has("recovered", BoxAnswers.COUNTS, Sweeper.Totals::recovered)
          .may("last", SWEEP, Sweeper.Totals::last);

  private static final Parameter<Boolean> DRY_RUN = Parameter.flag("dryRun", false);

  private static final Operation LIST =
      Operation.of("getSweeps", "What sweeps of the host found since the start (admin)")
          .answers(200, "done", TOTALS)
          .needs(Right.ADMIN);
  private static final Operation START =
      Operation.of("sweep", "Sweep the host now (admin)")
          .with(DRY_RUN)
          .answers(200, "done", SWEEP)
          .needs(Right.ADMIN);

  private final Sweeper sweeper;

  SweepRoutes(Sweeper sweeper) {
    this.sweeper = sweeper;
  }

  List<Route> routes() {
    return List.of(
        Route.of("GET", "/v1/sweep", this::totals, LIST),
        Route.of("POST", "/v1/sweep", this::sweep, START));
  }

  private void totals(Exchange exchange) throws IOException {
    exchange.answer(200, TOTALS.write(sweeper.totals()));
  }

  private void sweep(Exchange exchange) throws IOException {
    exchange.answer(200, SWEEP.write(sweeper.sweep(exchange.get(DRY_RUN))));
  }
}
