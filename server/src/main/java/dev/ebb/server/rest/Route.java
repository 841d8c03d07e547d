package dev.ebb.server.rest;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One thing that can be asked.
 *
 * @param template its path; a part in braces is a name
 * @param query the parameters it knows; all others are refused
 */
record Route(String method, String template, Set<String> query, Handling handling) {
  private static final Set<String> ENDED_BY_DELETE =
      Set.of("/v1/boxes/{box}", "/v1/boxes/{box}/contexts/{context}", "/mcp");
  private static final List<String> ENDINGS = List.of("/kill", "/kill-all", "/stop", "/interrupt");

  /** Answers, or throws a Problem. */
  interface Handling {
    void handle(Exchange exchange) throws Exception;
  }

  static Route of(String method, String template, Handling handling, String... query) {
    return new Route(method, template, Set.of(query), handling);
  }

  /** It gives something back: nobody is kept from that. */
  boolean isEnding() {
    return ENDINGS.stream().anyMatch(template::endsWith)
        || (method.equals("DELETE") && ENDED_BY_DELETE.contains(template));
  }

  /** The named parts of {@code path}, if it is of this route. */
  Optional<Map<String, String>> match(List<String> path) {
    List<String> parts = List.of(template.substring(1).split("/"));
    if (parts.size() != path.size()) {
      return Optional.empty();
    }
    var names = new HashMap<String, String>();
    for (int i = 0; i < parts.size(); i++) {
      String part = parts.get(i);
      if (part.startsWith("{")) {
        names.put(part.substring(1, part.length() - 1), path.get(i));
      } else if (!part.equals(path.get(i))) {
        return Optional.empty();
      }
    }
    return Optional.of(names);
  }
}
