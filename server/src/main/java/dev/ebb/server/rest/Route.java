package dev.ebb.server.rest;

import java.util.List;
import java.util.Set;

/**
 * One request that the server understands.
 *
 * @param template its path; a part in braces is a name
 * @param query the parameters it knows; all others are refused
 * @param isEnding it ends something: no limit keeps a caller from that
 */
record Route(
    String method, String template, Set<String> query, boolean isEnding, Handling handling) {

  /** Answers, or throws a Problem. */
  interface Handling {
    void handle(Exchange exchange) throws Exception;
  }

  static Route of(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), false, handling);
  }

  /** A route that ends something. */
  static Route ending(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), true, handling);
  }

  /** The parts of its path. */
  List<String> parts() {
    return List.of(template.substring(1).split("/"));
  }
}
