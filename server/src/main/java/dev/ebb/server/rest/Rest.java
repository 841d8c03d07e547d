package dev.ebb.server.rest;

import dev.ebb.server.access.Gate;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.server.Handler;

/** All of REST v1. */
public final class Rest {
  private Rest() {}

  public static Handler handler(Boxes boxes, Gate gate, Policy policy) {
    var events = new EventRoutes(boxes, version());
    return new RestHandler(gate, events.open(), routes(boxes, policy, events));
  }

  static List<Route> routes(Boxes boxes, Policy policy, EventRoutes events) {
    var routes = new ArrayList<>(new BoxRoutes(boxes, policy).routes());
    routes.addAll(new ExecRoutes(boxes, policy).routes());
    routes.addAll(events.routes());
    return routes;
  }

  private static String version() {
    String version = Rest.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
