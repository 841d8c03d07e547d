package dev.ebb.server.rest;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.pressure.BaselineWatch;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The Model Context Protocol over HTTP; what speaks it is loaded with the first message. */
final class McpRoutes {
  private final McpDoor.House house;
  private final BaselineWatch baseline;
  private final OrderedLock opening = new OrderedLock(LockOrder.MCP_OPENING);

  @GuardedBy("opening")
  private @Nullable McpDoor opened;

  /** The same, for who only looks. */
  private volatile @Nullable McpDoor door;

  McpRoutes(McpDoor.House house, BaselineWatch baseline, Metrics metrics) {
    this.house = house;
    this.baseline = baseline;
    metrics.gauge("ebb_mcp_sessions", "Sessions of MCP.", () -> door == null ? 0 : door.open());
    metrics.counter(
        "ebb_mcp_sessions_begun_total",
        "Sessions of MCP that were begun.",
        () -> door == null ? 0 : door.begun());
  }

  List<Route> routes() {
    return List.of(
        Route.of("POST", "/mcp", exchange -> door().post(exchange)),
        Route.of("GET", "/mcp", exchange -> door().listen(exchange)),
        Route.ending("DELETE", "/mcp", exchange -> door().end(exchange)),
        Route.of("GET", "/v1/mcp/sessions", this::sessions));
  }

  /** Loads nothing. */
  private void sessions(Exchange exchange) throws IOException {
    McpDoor there = door;
    var sessions = there == null ? List.of() : there.sessions(exchange.caller());
    exchange.answer(200, Documents.object("sessions", sessions));
  }

  private McpDoor door() {
    McpDoor there = door;
    if (there != null) {
      return there;
    }
    opening.lock();
    try {
      if (opened == null) {
        opened = McpLayer.open(house, baseline);
        door = opened;
      }
      return opened;
    } finally {
      opening.unlock();
    }
  }
}
