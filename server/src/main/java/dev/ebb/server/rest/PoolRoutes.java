package dev.ebb.server.rest;

import dev.ebb.model.Fate;
import dev.ebb.model.PoolState;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The boxes that were made ahead. */
final class PoolRoutes {
  private final BoxRegistry boxes;

  PoolRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    return List.of(Route.of("GET", "/v1/pool", this::state));
  }

  private void state(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    PoolState state = boxes.pool().state();
    var destroyed = new TreeMap<String, Object>();
    for (Map.Entry<Fate, Long> each : state.destroyed().entrySet()) {
      destroyed.put(each.getKey().word(), each.getValue());
    }
    exchange.answer(
        200,
        Documents.object(
            "kinds", state.kinds().stream().map(PoolRoutes::kind).toList(),
            "most", state.most(),
            "unfit", state.unfit(),
            "destroyed", destroyed));
  }

  private static Map<String, Object> kind(PoolState.Kind kind) {
    return Documents.object(
        "interpreter", kind.interpreter(),
        "size", kind.size(),
        "target", kind.target(),
        "min", kind.min(),
        "max", kind.max(),
        "hits", kind.hits(),
        "misses", kind.misses(),
        "oldestMillis", kind.oldest().toMillis(),
        "startMillis", kind.start().toMillis());
  }
}
