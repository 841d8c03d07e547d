package dev.ebb.server.http;

/**
 * What the OpenAPI document says of a route, also of one whose door is not loaded.
 *
 * @param isEnding it ends something: no limit keeps a caller from that
 * @param isOpen it needs no key
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record DescribedRoute(
    String method, String template, boolean isEnding, boolean isOpen, Operation operation) {
  public DescribedRoute {
    operation.check(template);
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
