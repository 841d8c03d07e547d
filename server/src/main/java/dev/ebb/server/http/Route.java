package dev.ebb.server.http;

import dev.ebb.server.service.access.Right;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One request that the server understands.
 *
 * @param template its path; a part in braces is a name
 * @param query the parameters it knows; all others are refused
 * @param isEnding whether it ends something; such a route is exempt from limits
 * @param isOpen whether it needs no key
 * @param right that its caller needs, unless it is open
 * @param operation its parameters and answers, if its door declares them
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record Route(
    String method,
    String template,
    Set<String> query,
    boolean isEnding,
    boolean isOpen,
    Right right,
    Handling handling,
    Optional<Operation> operation) {

  /** Answers, or throws a Problem. */
  public interface Handling {
    void handle(Exchange exchange) throws Exception;
  }

  public static Route of(String method, String template, Handling handling, String... query) {
    return plain(method, template, Set.of(query), false, false, handling);
  }

  /** Makes a route that ends something. */
  public static Route ending(String method, String template, Handling handling, String... query) {
    return plain(method, template, Set.of(query), true, false, handling);
  }

  /** Makes a route that needs no key; its caller is unknown. */
  public static Route open(String method, String template, Handling handling, String... query) {
    return plain(method, template, Set.of(query), false, true, handling);
  }

  /** Makes a route with the parameters of its operation. */
  public static Route of(String method, String template, Handling handling, Operation operation) {
    return described(method, template, false, false, handling, operation);
  }

  /** Makes a route that ends something, with the parameters of its operation. */
  public static Route ending(
      String method, String template, Handling handling, Operation operation) {
    return described(method, template, true, false, handling, operation);
  }

  /** Makes a route that needs no key, with the parameters of its operation. */
  public static Route open(String method, String template, Handling handling, Operation operation) {
    return described(method, template, false, true, handling, operation);
  }

  private static Route described(
      String method,
      String template,
      boolean isEnding,
      boolean isOpen,
      Handling handling,
      Operation operation) {
    operation.check(template);
    return new Route(
        method,
        template,
        operation.query(),
        isEnding,
        isOpen,
        right(method, operation),
        handling,
        Optional.of(operation));
  }

  private static Route plain(
      String method,
      String template,
      Set<String> query,
      boolean isEnding,
      boolean isOpen,
      Handling handling) {
    return new Route(
        method, template, query, isEnding, isOpen, right(method), handling, Optional.empty());
  }

  /** Returns the right that an operation needs. */
  static Right right(String method, Operation operation) {
    return operation.right().orElseGet(() -> right(method));
  }

  private static Right right(String method) {
    return method.equals("GET") ? Right.READ : Right.USE;
  }

  /** Returns a route whose caller needs this right, whatever its method. */
  public Route needing(Right needed) {
    return new Route(method, template, query, isEnding, isOpen, needed, handling, operation);
  }

  /** Returns the parts of its path. */
  List<String> parts() {
    return List.of(template.substring(1).split("/"));
  }
}
