package dev.ebb.server;

import dev.ebb.kernel.ProcessClock;
import dev.ebb.server.doors.McpSign;
import dev.ebb.server.http.Dispatcher;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.Gate;
import dev.ebb.server.http.ModuleDoor;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.rest.RestDoor;
import dev.ebb.server.rest.Watches;
import dev.ebb.server.service.BoxRegistry;
import java.util.List;
import java.util.Map;

/** All doors of the daemon; a new door is registered here. */
final class DaemonDoors {
  private DaemonDoors() {}

  /** Passes each request to its door. */
  static Dispatcher open(
      Settings settings, BoxRegistry boxes, Watches watches, Gate gate, Metrics metrics) {
    var house =
        new Door.House(
            boxes, settings.policy(), settings.mcp(), ProcessClock.instants(), version());
    var mcp = new ModuleDoor(McpSign.SIGN, house, watches.baseline());
    metrics.gauge("ebb_mcp_sessions", "Sessions of MCP.", () -> mcp.sessions().open());
    metrics.counter(
        "ebb_mcp_sessions_begun_total",
        "Sessions of MCP that were begun.",
        () -> mcp.sessions().begun());
    var rest =
        new RestDoor(
            house, watches, metrics, Map.of(mcp.name(), mcp::sessions), McpSign.SIGN.routes());
    var counted =
        new Dispatcher.Watches(
            metrics, watches.baseline(), watches.quotas(), watches.disconnects(), boxes.memory());
    return new Dispatcher(gate, counted, List.of(rest, mcp));
  }

  private static String version() {
    String version = DaemonDoors.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
