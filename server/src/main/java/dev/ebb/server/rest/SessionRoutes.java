package dev.ebb.server.rest;

import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/** The sessions of a door, for the operator. */
final class SessionRoutes {
  private static final ObjectSchema<DoorSessions.Entry> SESSION =
      ObjectSchema.<DoorSessions.Entry>named("Session")
          .has(
              "session",
              Values.TEXT.described("the beginning of its id: too short to use the session"),
              DoorSessions.Entry::id)
          .has("tenant", Values.TEXT, DoorSessions.Entry::tenant)
          .has("client", Values.TEXT.described("what it calls itself"), DoorSessions.Entry::client)
          .has("begunAt", Values.TIME, DoorSessions.Entry::begunAt)
          .has(
              "calls",
              Values.INTEGER.described("requests that it waits for"),
              DoorSessions.Entry::calls)
          .has("listening", Values.FLAG, DoorSessions.Entry::isListening)
          .has("boxes", Values.TEXTS, DoorSessions.Entry::boxes);

  private static final ObjectSchema<List<DoorSessions.Entry>> SESSIONS =
      ObjectSchema.<List<DoorSessions.Entry>>named("Sessions")
          .has("sessions", Values.list(SESSION), all -> all);

  private final String door;
  private final Supplier<DoorSessions> sessions;

  SessionRoutes(String door, Supplier<DoorSessions> sessions) {
    this.door = door;
    this.sessions = sessions;
  }

  Route route() {
    String title = door.substring(0, 1).toUpperCase(Locale.ROOT) + door.substring(1);
    Operation operation =
        Operation.of("list" + title + "Sessions", "Sessions of the door " + door)
            .answers(200, "done", SESSIONS);
    return Route.of("GET", "/v1/" + door + "/sessions", this::list, operation);
  }

  private void list(Exchange exchange) throws IOException {
    exchange.answer(200, SESSIONS.write(sessions.get().list(exchange.caller())));
  }
}
