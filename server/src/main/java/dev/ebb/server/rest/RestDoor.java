package dev.ebb.server.rest;

import dev.ebb.server.http.DescribedRoute;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.KeyPlace;
import dev.ebb.server.http.Mount;
import dev.ebb.server.http.Route;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.access.Policy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** REST v1. It is mounted everywhere, so it answers what no other door does. */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class RestDoor implements Door {
  private final House house;
  private final Watches watches;
  private final Metrics metrics;
  private final Map<String, Supplier<DoorSessions>> sessions;
  private final List<DescribedRoute> others;

  /**
   * The door of a daemon.
   *
   * @param sessions of other doors, by their names, for the operator
   * @param others routes of other doors, for the OpenAPI document
   */
  public RestDoor(
      House house,
      Watches watches,
      Metrics metrics,
      Map<String, Supplier<DoorSessions>> sessions,
      List<DescribedRoute> others) {
    this.house = house;
    this.watches = watches;
    this.metrics = metrics;
    this.sessions = Map.copyOf(sessions);
    this.others = List.copyOf(others);
  }

  @Override
  public String name() {
    return "rest";
  }

  @Override
  public Set<Mount> mounts() {
    return Set.of(Mount.EVERYWHERE);
  }

  @Override
  public KeyPlace key() {
    return KeyPlace.BEARER;
  }

  @Override
  public List<Route> routes() {
    BoxRegistry boxes = house.boxes();
    Policy policy = house.policy();
    var routes = new ArrayList<>(new BoxRoutes(boxes, policy).routes());
    var runs = new RunService(boxes);
    routes.addAll(new ExecRoutes(boxes, runs, policy).routes());
    routes.addAll(new CertificateRoutes(boxes).routes());
    routes.addAll(new StreamRoutes(boxes).routes());
    routes.addAll(new CodeRoutes(boxes, runs, policy).routes());
    routes.addAll(new ContextRoutes(boxes, runs, policy).routes());
    routes.addAll(new FileRoutes(boxes).routes());
    routes.addAll(new EventRoutes(boxes, watches.watchdog(), house.version()).routes());
    routes.addAll(new SweepRoutes(watches.sweeper()).routes());
    routes.addAll(new PressureRoutes(watches).routes());
    routes.addAll(new QuotaRoutes(watches.quotas(), boxes).routes());
    routes.addAll(new PoolRoutes(boxes).routes());
    sessions.forEach((door, all) -> routes.add(new SessionRoutes(door, all).route()));
    routes.add(new MetricsRoute(metrics, house.version()).route());
    routes.add(OpenApi.route(Collections.unmodifiableList(routes), others));
    return routes;
  }
}
