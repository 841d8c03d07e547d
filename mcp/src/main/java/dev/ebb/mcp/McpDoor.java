package dev.ebb.mcp;

import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.KeyPlace;
import dev.ebb.server.http.Mount;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.access.Right;
import java.util.List;
import java.util.Set;

/**
 * The door for agents. A request refused before its message was read gets the default form of an
 * error; an error in a message is answered as JSON-RPC, see {@link Refused}.
 */
final class McpDoor implements Door {
  private static final String PATH = "/mcp";

  private final StreamableHttp http;
  private final Sessions sessions;

  McpDoor(StreamableHttp http, Sessions sessions) {
    this.http = http;
    this.sessions = sessions;
  }

  static McpDoor of(House house) {
    var sessions = new Sessions(house);
    return new McpDoor(new StreamableHttp(house, sessions), sessions);
  }

  @Override
  public String name() {
    return "mcp";
  }

  @Override
  public Set<Mount> mounts() {
    return Set.of(Mount.at(PATH));
  }

  @Override
  public KeyPlace key() {
    return KeyPlace.BEARER;
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.of("POST", PATH, exchange -> http.post(exchange)),
        Route.of("GET", PATH, exchange -> http.listen(exchange)).needing(Right.USE),
        Route.ending("DELETE", PATH, exchange -> http.end(exchange)));
  }

  @Override
  public DoorSessions sessions() {
    return sessions;
  }
}
