package dev.ebb.server.http;

import java.util.List;
import java.util.Set;

/**
 * One request that the server understands.
 *
 * @param template its path; a part in braces is a name
 * @param query the parameters it knows; all others are refused
 * @param isEnding it ends something: no limit keeps a caller from that
 * @param isOpen it needs no key
 */
public record Route(
    String method,
    String template,
    Set<String> query,
    boolean isEnding,
    boolean isOpen,
    Handling handling) {

  /** Answers, or throws a Problem. */
  public interface Handling {
    void handle(Exchange exchange) throws Exception;
  }

  public static Route of(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), false, false, handling);
  }

  /** A route that ends something. */
  public static Route ending(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), true, false, handling);
  }

  /** A route that needs no key, and whose caller nobody knows. */
  public static Route open(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), false, true, handling);
  }

  /** The parts of its path. */
  List<String> parts() {
    return List.of(template.substring(1).split("/"));
  }
}
