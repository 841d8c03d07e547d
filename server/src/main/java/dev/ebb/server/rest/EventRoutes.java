package dev.ebb.server.rest;

import dev.ebb.engine.HomeTools;
import dev.ebb.model.Certificate;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.pressure.Watchdog;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.Events;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Events, explanations of resources, and the health of the daemon. */
final class EventRoutes {
  /** Stands for the latest event. */
  private static final long LATEST = Long.MAX_VALUE;

  // --- answers ---

  private static final ObjectSchema<Watchdog.Stack> STACK =
      ObjectSchema.<Watchdog.Stack>inline()
          .has("thread", Values.TEXT, Watchdog.Stack::thread)
          .has("stack", Values.TEXTS, Watchdog.Stack::frames);

  private static final ObjectSchema<Watchdog.Standstill> STALL =
      ObjectSchema.<Watchdog.Standstill>inline()
          .has("what", Values.TEXT, Watchdog.Standstill::what)
          .has("seconds", Values.INTEGER, Watchdog.Standstill::seconds)
          .has("deadlock", Values.FLAG, Watchdog.Standstill::isDeadlock)
          .has("threads", Values.list(STACK), Watchdog.Standstill::stacks);

  private static final ObjectSchema<List<Watchdog.Standstill>> HEALTH =
      ObjectSchema.<List<Watchdog.Standstill>>named("Health")
          .has("alive", Values.FLAG, List::isEmpty)
          .may(
              "stalled",
              Values.list(STALL),
              stalls -> Optional.of(stalls).filter(all -> !all.isEmpty()));

  private static final ObjectSchema<Boolean> READINESS =
      ObjectSchema.<Boolean>named("Readiness").has("ready", Values.FLAG, ready -> ready);

  private static final ObjectSchema<String> VERSION_ANSWER =
      ObjectSchema.<String>named("Version").has("version", Values.TEXT, version -> version);

  /** The reason why a resource exists. */
  private record Reason(String subject, String box, String reason) {}

  private static final ObjectSchema<Reason> REASON =
      ObjectSchema.<Reason>named("Why")
          .has("subject", Values.TEXT, Reason::subject)
          .has("box", Values.TEXT, Reason::box)
          .has("reason", Values.TEXT, Reason::reason);

  // --- operations ---

  private static final Parameter<Long> AFTER = Parameter.count("after", LATEST, LATEST);
  private static final Parameter<Optional<String>> LAST_EVENT = Parameter.header("Last-Event-ID");
  private static final Parameter<String> SUBJECT = Parameter.path("subject");

  private static final Operation EVENTS =
      Operation.of("followEvents", "What happens to the boxes")
          .with(AFTER, LAST_EVENT)
          .answersEvents();
  private static final Operation WHY =
      Operation.of("why", "Why a box or process is still there")
          .with(SUBJECT)
          .answers(200, "done", REASON)
          .needs(Right.ADMIN);
  private static final Operation VERSION =
      Operation.of("getVersion", "The version").answers(200, "done", VERSION_ANSWER);
  private static final Operation HEALTHY =
      Operation.of("getHealth", "Alive")
          .answers(200, "done", HEALTH)
          .answers(
              503,
              "something in the daemon stands still: what, for how long, and the stacks of the"
                  + " threads",
              HEALTH);
  private static final Operation READY =
      Operation.of("getReadiness", "Ready for work")
          .answers(200, "done", READINESS)
          .fails(Problem.Code.DRAINING, Problem.Code.INTERNAL);

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
        Route.of("GET", "/v1/events", this::events, EVENTS),
        Route.of("GET", "/v1/why/{subject}", this::why, WHY),
        Route.of("GET", "/v1/version", this::version, VERSION),
        // Available without a key: they reveal nothing else.
        Route.open("GET", "/healthz", this::healthy, HEALTHY),
        Route.open("GET", "/readyz", this::ready, READY));
  }

  private void healthy(Exchange exchange) throws IOException {
    List<Watchdog.Standstill> stalls = watchdog.stalls();
    exchange.answer(stalls.isEmpty() ? 200 : 503, HEALTH.write(stalls));
  }

  private void ready(Exchange exchange) throws IOException {
    List<Watchdog.Standstill> stalls = watchdog.stalls();
    if (!stalls.isEmpty()) {
      throw new Problem(Problem.Code.INTERNAL, stalls.getFirst().what());
    }
    if (boxes.isDraining()) {
      throw new Problem(Problem.Code.DRAINING, "the daemon is going down");
    }
    exchange.answer(200, READINESS.write(true));
  }

  private void events(Exchange exchange) throws IOException, InterruptedException {
    exchange.negotiate(EventStream.TYPE);
    long latest = boxes.events().last();
    long last = exchange.get(LAST_EVENT).map(id -> parse(id)).orElseGet(() -> exchange.get(AFTER));
    try (var subscription = boxes.events().subscribe(exchange.caller())) {
      follow(exchange, subscription, boxes.events().after(last == LATEST ? latest : last));
    }
  }

  private void follow(Exchange exchange, Events.Subscription subscription, long after)
      throws IOException, InterruptedException {
    long seen = after;
    var stream = new EventStream(exchange);
    while (!boxes.isDraining()) {
      Events.Batch batch = subscription.await(seen, EventStream.HEARTBEAT);
      if (batch.missed()) {
        stream.send("gap", Long.toString(seen), Map.of("after", seen));
      }
      for (Events.Event event : batch.events()) {
        stream.send(event.kind(), Long.toString(event.id()), document(event.data()));
        seen = event.id();
      }
      if (batch.events().isEmpty()) {
        stream.beat();
      }
    }
  }

  private static Map<String, Object> document(Map<String, Object> data) {
    var document = new LinkedHashMap<>(data);
    document.replaceAll(
        (_, value) ->
            value instanceof Certificate proof ? BoxAnswers.CERTIFICATE.write(proof) : value);
    return document;
  }

  private static long parse(String id) {
    try {
      return Long.parseUnsignedLong(id.strip());
    } catch (NumberFormatException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, "Last-Event-ID must be a number");
    }
  }

  private void why(Exchange exchange) throws IOException {
    String subject = exchange.get(SUBJECT);
    var answer =
        HomeTools.why(id(exchange, subject))
            .orElseThrow(() -> new Problem(Problem.Code.NOT_FOUND, "unknown: \"" + subject + "\""));
    exchange.answer(200, REASON.write(new Reason(subject, answer.box(), answer.reason())));
  }

  /** Explains a named box; any other subject is looked up in the home. */
  private String id(Exchange exchange, String subject) {
    try {
      return boxes.find(exchange.caller(), subject).id();
    } catch (SandboxException e) {
      return subject;
    }
  }

  private void version(Exchange exchange) throws IOException {
    exchange.answer(200, VERSION_ANSWER.write(version));
  }
}
