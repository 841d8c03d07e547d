package dev.ebb.client;

import dev.ebb.client.http.Body;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Response;
import dev.ebb.client.http.ServerSentEvents;
import dev.ebb.client.http.Target;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A session of the Model Context Protocol that passes messages on unchanged. The daemon ends the
 * session and every box it made when {@link #listen} ends, for any reason. Thread-safe.
 */
public final class McpSession {
  private static final Target MCP = Target.of("mcp");
  private static final String ID = "Mcp-Session-Id";
  private static final String JSON = "application/json";
  private static final String EVENTS = "text/event-stream";
  private static final int MAX_MESSAGE = 64 * 1024 * 1024;

  private final Calls calls;
  private volatile String id = "";

  McpSession(Calls calls) {
    this.calls = calls;
  }

  /**
   * Returns whether the daemon has begun the session, with the first message, {@code initialize}.
   */
  public boolean isBegun() {
    return !id.isEmpty();
  }

  private Request ofSession(Request request) {
    return id.isEmpty() ? request : request.with(ID, id);
  }

  /** Sends one message, and passes on everything that answers it; returns after the last answer. */
  public void send(String message, Consumer<String> answers) throws IOException {
    Request request =
        ofSession(Request.of("POST", MCP))
            .with("Accept", JSON + ", " + EVENTS)
            .with(Body.of(JSON, message.getBytes(StandardCharsets.UTF_8)))
            .with(Duration.ZERO);
    try (Response response = calls.answer(request)) {
      String type = response.headers().first("Content-Type").orElse("");
      if (response.status() / 100 != 2 && !type.startsWith(JSON)) {
        throw Calls.problem(response);
      }
      response.headers().first(ID).ifPresent(begun -> id = begun);
      if (type.startsWith(EVENTS)) {
        handOn(response, answers);
        return;
      }
      String answer =
          new String(response.bytes(MAX_MESSAGE, Duration.ZERO), StandardCharsets.UTF_8);
      if (!answer.isBlank()) {
        answers.accept(answer);
      }
    }
  }

  /**
   * Passes on messages that answer no request, until the session ends; the session ends when this
   * call does.
   */
  public void listen(Consumer<String> messages) throws IOException {
    Request request = ofSession(Request.of("GET", MCP)).with("Ebb-Lifeline", "1");
    try (Response response = calls.events(request)) {
      handOn(response, messages);
    }
  }

  private static void handOn(Response response, Consumer<String> messages) throws IOException {
    try (var events = new ServerSentEvents(response.body())) {
      for (Optional<ServerSentEvents.Event> event = events.next();
          event.isPresent();
          event = events.next()) {
        messages.accept(event.get().data());
      }
    }
  }

  /** Ends the session; every box that it made is gone when this returns. */
  public void end() throws IOException {
    if (isBegun()) {
      calls.done(ofSession(Request.of("DELETE", MCP)));
    }
  }
}
