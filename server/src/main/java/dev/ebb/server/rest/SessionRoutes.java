package dev.ebb.server.rest;

import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Route;
import java.io.IOException;
import java.util.Map;
import java.util.function.Supplier;

/** The sessions of a door, for its operator. */
final class SessionRoutes {
  private final String door;
  private final Supplier<DoorSessions> sessions;

  SessionRoutes(String door, Supplier<DoorSessions> sessions) {
    this.door = door;
    this.sessions = sessions;
  }

  Route route() {
    return Route.of("GET", "/v1/" + door + "/sessions", this::list);
  }

  private void list(Exchange exchange) throws IOException {
    var all = sessions.get().list(exchange.caller()).stream().map(SessionRoutes::document).toList();
    exchange.answer(200, Documents.object("sessions", all));
  }

  private static Map<String, Object> document(DoorSessions.Entry session) {
    return Documents.object(
        "session", session.id(),
        "tenant", session.tenant(),
        "client", session.client(),
        "begunAt", session.begunAt().toString(),
        "calls", session.calls(),
        "listening", session.isListening(),
        "boxes", session.boxes());
  }
}
