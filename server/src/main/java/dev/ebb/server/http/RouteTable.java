package dev.ebb.server.http;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Finds routes by path, in one step for each part of the path. */
final class RouteTable {
  private final Node root = new Node();

  /** One path: its routes by method, and longer paths. */
  private static final class Node {
    private final Map<String, Node> parts = new HashMap<>();
    private final Map<String, Route> routes = new TreeMap<>();
    private @Nullable Node any;
    private String name = "";
  }

  /**
   * The routes of a path.
   *
   * @param routes by their method
   * @param names the parts of the path that match names of the template
   */
  record Found(Map<String, Route> routes, Map<String, String> names) {
    Optional<Route> route(String method) {
      return Optional.ofNullable(routes.get(method));
    }

    Set<String> methods() {
      return routes.keySet();
    }
  }

  RouteTable(List<Route> routes) {
    routes.forEach(this::add);
  }

  private void add(Route route) {
    Node node = root;
    for (String part : route.parts()) {
      node = part.startsWith("{") ? named(node, part, route) : literal(node, part);
    }
    if (node.routes.put(route.method(), route) != null) {
      throw new IllegalArgumentException(
          "two routes are " + route.method() + " " + route.template());
    }
  }

  private static Node literal(Node node, String part) {
    return node.parts.computeIfAbsent(part, _ -> new Node());
  }

  private static Node named(Node node, String part, Route route) {
    String name = part.substring(1, part.length() - 1);
    if (node.any == null) {
      node.any = new Node();
      node.any.name = name;
    } else if (!node.any.name.equals(name)) {
      throw new IllegalArgumentException(
          route.template()
              + " calls a part \""
              + name
              + "\", another route \""
              + node.any.name
              + "\"");
    }
    return node.any;
  }

  /** Finds a path; literal parts win over named ones. */
  Optional<Found> find(List<String> path) {
    var names = new HashMap<String, String>();
    Node node = root;
    for (String part : path) {
      Node next = node.parts.get(part);
      if (next == null && node.any != null) {
        next = node.any;
        names.put(next.name, part);
      }
      if (next == null) {
        return Optional.empty();
      }
      node = next;
    }
    return node.routes.isEmpty() ? Optional.empty() : Optional.of(new Found(node.routes, names));
  }
}
