package dev.ebb.server.rest;

import dev.ebb.model.PoolState;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The boxes that were made in advance. */
final class PoolRoutes {
  private static final ObjectSchema<PoolState.Kind> KIND =
      ObjectSchema.<PoolState.Kind>named(
              "PoolKind",
              "Boxes of one kind; \"interpreter\" is what waits in them, empty: nothing.")
          .has("interpreter", Values.TEXT, PoolState.Kind::interpreter)
          .has("size", Values.COUNT, PoolState.Kind::size)
          .has("target", Values.COUNT, PoolState.Kind::target)
          .has("min", Values.COUNT, PoolState.Kind::min)
          .has("max", Values.COUNT, PoolState.Kind::max)
          .has("hits", Values.COUNT, PoolState.Kind::hits)
          .has("misses", Values.COUNT, PoolState.Kind::misses)
          .has("oldestMillis", Values.MILLIS, PoolState.Kind::oldest)
          .has("startMillis", Values.MILLIS, PoolState.Kind::start)
          .has("asleep", Values.FLAG, PoolState.Kind::asleep);

  private static final ObjectSchema<PoolState> POOL =
      ObjectSchema.<PoolState>named(
              "Pool",
              "\"most\" may wait in all; \"unfit\" orders wanted what no pool has; \"destroyed\" are"
                  + " boxes destroyed before use, by reason; boxes may take \"memory\" in all;"
                  + " python imports the modules \"preloaded\" before it waits.")
          .has("kinds", Values.list(KIND), PoolState::kinds)
          .has("most", Values.COUNT, PoolState::most)
          .has("unfit", Values.COUNT, PoolState::unfit)
          .has("destroyed", Values.map(Values.COUNT), PoolRoutes::destroyed)
          .has("memory", Values.COUNT, state -> state.memory().bytes())
          .has("preloaded", Values.list(Values.TEXT), PoolState::preloaded);

  private static Map<String, Number> destroyed(PoolState state) {
    var destroyed = new TreeMap<String, Number>();
    state.destroyed().forEach((fate, count) -> destroyed.put(fate.wireName(), count));
    return destroyed;
  }

  private static final Operation STATE =
      Operation.of("getPool", "Boxes that were made in advance, and their fate (admin)")
          .answers(200, "done", POOL)
          .needs(Right.ADMIN);

  private final BoxRegistry boxes;

  PoolRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    return List.of(Route.of("GET", "/v1/pool", this::state, STATE));
  }

  private void state(Exchange exchange) throws IOException {
    exchange.answer(200, POOL.write(boxes.pool().state()));
  }
}
