package dev.ebb.server.rest;

import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.util.List;

/** How near the limits are. For admins only: the limits concern all tenants. */
final class PressureRoutes {
  private static final Operation PRESSURE =
      Operation.of("getPressure", "How near the limits of the host are (admin)")
          .answers(200, "done", PressureAnswers.PRESSURE)
          .needs(Right.ADMIN);

  private final Watches watches;

  PressureRoutes(Watches watches) {
    this.watches = watches;
  }

  List<Route> routes() {
    return List.of(Route.of("GET", "/v1/pressure", this::pressure, PRESSURE));
  }

  private void pressure(Exchange exchange) throws IOException {
    exchange.answer(200, PressureAnswers.PRESSURE.write(PressureAnswers.Now.of(watches)));
  }
}
