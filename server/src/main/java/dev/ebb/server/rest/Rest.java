package dev.ebb.server.rest;

import dev.ebb.server.access.Gate;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.metrics.Metrics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

/** All of REST v1. */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class Rest {
  private static final int TEXT_MOST = 4 * 1024;
  static final int BINARY_MOST = 256 * 1024;

  /** Of a connection: that it is one too many, and how many there may be. */
  public static final String TOO_MANY = "dev.ebb.too-many-connections";

  /** The attribute of a connection on which nobody has shown a key yet. */
  public static final String GUEST = "dev.ebb.guest";

  /** A connection before a request on it has shown a key. */
  public interface Guest {
    /** A request has shown a valid key. */
    void enter(boolean isAdmin);
  }

  private Rest() {}

  public static Handler handler(
      Server server,
      Boxes boxes,
      Watches watches,
      Gate gate,
      Policy policy,
      McpSettings mcp,
      Metrics metrics) {
    var sockets = ServerWebSocketContainer.ensure(server);
    sockets.setIdleTimeout(Duration.ZERO);
    sockets.setMaxTextMessageSize(TEXT_MOST);
    sockets.setMaxBinaryMessageSize(BINARY_MOST);
    server.getContext().setAttribute(ServerWebSocketContainer.class.getName(), sockets);
    var events = new EventRoutes(boxes, watches.watchdog(), version());
    return new RestHandler(
        gate,
        metrics,
        watches,
        boxes.memory(),
        events.open(),
        routes(boxes, watches, policy, mcp, events, metrics));
  }

  static List<Route> routes(
      Boxes boxes,
      Watches watches,
      Policy policy,
      McpSettings mcp,
      EventRoutes events,
      Metrics metrics) {
    var routes = new ArrayList<>(new BoxRoutes(boxes, policy).routes());
    routes.addAll(new ExecRoutes(boxes, policy).routes());
    routes.addAll(new CodeRoutes(boxes, policy).routes());
    routes.addAll(new ContextRoutes(boxes, policy).routes());
    routes.addAll(new FileRoutes(boxes).routes());
    routes.addAll(events.routes());
    routes.addAll(new SweepRoutes(watches.sweeper()).routes());
    routes.addAll(new PressureRoutes(watches).routes());
    routes.addAll(new QuotaRoutes(watches.quotas(), boxes).routes());
    routes.addAll(new PoolRoutes(boxes).routes());
    var house = new McpDoor.House(boxes, policy, mcp, version());
    routes.addAll(new McpRoutes(house, watches.baseline(), metrics).routes());
    routes.add(new MetricsRoute(metrics, version()).route());
    return routes;
  }

  private static String version() {
    String version = Rest.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
