package dev.ebb.server.http;

import dev.ebb.server.service.access.Right;

/**
 * The description of a route for the OpenAPI document, available before its door is loaded.
 *
 * @param isEnding whether it ends something; such a route is exempt from limits
 * @param isOpen whether it needs no key
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record DescribedRoute(
    String method, String template, boolean isEnding, boolean isOpen, Operation operation) {
  public DescribedRoute {
    operation.check(template);
  }

  /** Returns the right that its caller needs, unless it is open. */
  public Right right() {
    return Route.right(method, operation);
  }

  public static DescribedRoute of(Route route) {
    Operation operation =
        route
            .operation()
            .orElseThrow(
                () -> new IllegalArgumentException(route.template() + " is not described"));
    return new DescribedRoute(
        route.method(), route.template(), route.isEnding(), route.isOpen(), operation);
  }
}
