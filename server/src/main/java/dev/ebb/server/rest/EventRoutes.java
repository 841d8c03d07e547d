package dev.ebb.server.rest;

import dev.ebb.engine.HomeTools;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.pressure.Watchdog;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.Events;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** What happens, why something is there, and how the daemon itself is. */
final class EventRoutes {
  private final BoxRegistry boxes;
  private final Watchdog watchdog;
  private final String version;

  EventRoutes(BoxRegistry boxes, Watchdog watchdog, String version) {
    this.boxes = boxes;
    this.watchdog = watchdog;
    this.version = version;
  }

  List<Route> routes() {
    return List.of(
        Route.of("GET", "/v1/events", this::events, "after"),
        Route.of("GET", "/v1/why/{subject}", this::why),
        Route.of("GET", "/v1/version", this::version),
        Route.of("GET", "/v1/openapi.json", EventRoutes::openapi),
        // Without a key: they say nothing but that.
        Route.open("GET", "/healthz", this::healthy),
        Route.open("GET", "/readyz", this::ready));
  }

  private void healthy(Exchange exchange) throws IOException {
    List<Watchdog.Standstill> stalls = watchdog.stalls();
    var document = Documents.object("alive", stalls.isEmpty());
    if (!stalls.isEmpty()) {
      document.put("stalled", stalls.stream().map(EventRoutes::describe).toList());
    }
    exchange.answer(stalls.isEmpty() ? 200 : 503, document);
  }

  private static Map<String, Object> describe(Watchdog.Standstill stall) {
    var document = Documents.object("what", stall.what());
    document.put("seconds", stall.seconds());
    document.put("deadlock", stall.isDeadlock());
    document.put(
        "threads",
        stall.stacks().stream()
            .map(
                trace -> {
                  var thread = Documents.object("thread", trace.thread());
                  thread.put("stack", trace.frames());
                  return thread;
                })
            .toList());
    return document;
  }

  private void ready(Exchange exchange) throws IOException {
    if (!watchdog.stalls().isEmpty()) {
      throw new Problem(Problem.Code.INTERNAL, watchdog.stalls().getFirst().what());
    }
    if (boxes.isDraining()) {
      throw new Problem(Problem.Code.DRAINING, "the daemon is going down");
    }
    exchange.answer(200, Documents.object("ready", true));
  }

  private void events(Exchange exchange) throws IOException, InterruptedException {
    long latest = boxes.events().last();
    long told =
        exchange
            .header("Last-Event-ID")
            .map(id -> parse(id))
            .orElseGet(() -> exchange.number("after", latest, Long.MAX_VALUE));
    try (var subscription = boxes.events().subscribe(exchange.caller())) {
      follow(exchange, subscription, boxes.events().after(told));
    }
  }

  private void follow(Exchange exchange, Events.Subscription subscription, long after)
      throws IOException, InterruptedException {
    long seen = after;
    var stream = new EventStream(exchange);
    while (!boxes.isDraining()) {
      Events.Batch batch = subscription.await(seen, EventStream.HEARTBEAT);
      if (batch.missed()) {
        stream.send("gap", Long.toString(seen), Documents.object("after", seen));
      }
      for (Events.Event event : batch.events()) {
        stream.send(event.kind(), Long.toString(event.id()), event.data());
        seen = event.id();
      }
      if (batch.events().isEmpty()) {
        stream.beat();
      }
    }
  }

  private static long parse(String id) {
    try {
      return Long.parseUnsignedLong(id.strip());
    } catch (NumberFormatException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, "Last-Event-ID must be a number");
    }
  }

  private void why(Exchange exchange) throws IOException {
    exchange.requireAdmin();
    String subject = exchange.path("subject");
    var answer =
        HomeTools.why(id(exchange, subject))
            .orElseThrow(
                () -> new Problem(Problem.Code.NOT_FOUND, "nobody knows \"" + subject + "\""));
    exchange.answer(
        200, Documents.object("subject", subject, "box", answer.box(), "reason", answer.reason()));
  }

  /** Of a box that is named; anything else is what the home may know. */
  private String id(Exchange exchange, String subject) {
    try {
      return boxes.find(exchange.caller(), subject).id();
    } catch (SandboxException e) {
      return subject;
    }
  }

  private void version(Exchange exchange) throws IOException {
    exchange.answer(200, Documents.object("version", version));
  }

  private static void openapi(Exchange exchange) throws IOException {
    try (var document = EventRoutes.class.getResourceAsStream("openapi.json")) {
      if (document == null) {
        throw new Problem(Problem.Code.NOT_FOUND, "this build has no OpenAPI document");
      }
      String text = new String(document.readAllBytes(), StandardCharsets.UTF_8);
      exchange.answer(200, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }
  }
}
