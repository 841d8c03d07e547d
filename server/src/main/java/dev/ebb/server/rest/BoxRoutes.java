package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Network;
import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.Inventory;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Boxes: makes, lists, pauses and ends them. */
final class BoxRoutes {
  private static final int PAGE = 100;
  private static final int PAGE_MOST = 1000;
  private static final Pattern KEY = Pattern.compile("[\\x21-\\x7e]{1,255}");

  // --- parameters ---

  static final Parameter<String> BOX = Parameter.path("box").described("id or name");

  private static final Parameter<Optional<String>> IDEMPOTENCY =
      Parameter.header("Idempotency-Key").with("pattern", "^" + KEY.pattern() + "$");
  private static final Parameter<List<String>> LABEL =
      Parameter.texts("label").described("key=value or key; may come more than once");
  private static final Parameter<Optional<String>> STATE =
      Parameter.text("state")
          .with("enum", Stream.of(BoxState.values()).map(BoxState::wireName).toList());
  private static final Parameter<Optional<String>> NAME = Parameter.text("name");
  private static final Parameter<Long> LIMIT = Parameter.count("limit", PAGE, PAGE_MOST);
  private static final Parameter<Optional<String>> AFTER = Parameter.text("after");
  private static final Parameter<Boolean> FORCE = Parameter.flag("force", false);
  private static final Parameter<Boolean> WAIT =
      Parameter.flag("wait", true)
          .described("false answers 202 at once, without a certificate; true unless given");
  private static final Parameter<Boolean> WAIT_STOP =
      WAIT.described("false answers 202 at once; true unless given");
  static final Parameter<Duration> GRACE =
      Parameter.millis("graceMillis", ExecSpec.DEFAULT_GRACE)
          .described("between SIGTERM and SIGKILL; 5000 unless given");

  // --- operations ---

  private static final String STUCK = "begun; or something is stuck, and is tried again";

  private static final Field<Optional<Network>> WANTED = Orders.NETWORK.required();
  private static final RequestSchema NETWORK = RequestSchema.named("NetworkRequest", WANTED);

  private static final Operation CREATE =
      Operation.of("createBox", "Make a box")
          .with(IDEMPOTENCY)
          .mayTake(Orders.BOX)
          .example("name", "web", "ttlMillis", 3_600_000L, "network", "none")
          .answers(201, "made", BoxAnswers.BOX)
          .answers(200, "done: it was made before, by this key", BoxAnswers.BOX)
          .fails(Problem.Code.CONFLICT, Problem.Code.SETUP_FAILED);

  private static final Operation LIST =
      Operation.of("listBoxes", "List boxes, the oldest first")
          .with(LABEL, STATE, NAME, LIMIT, AFTER)
          .answers(200, "done", BoxAnswers.BOXES);

  private static final Operation INSPECT =
      Operation.of("getBox", "Inspect a box and what it holds")
          .with(BOX)
          .answers(200, "done", BoxAnswers.DETAILS);

  private static final Operation REMOVE =
      Operation.of("removeBox", "End a box and forget it; repeated, the same answer")
          .with(BOX, FORCE, WAIT)
          .answers(200, "done", BoxAnswers.REMOVED)
          .answers(202, STUCK, BoxAnswers.REMOVED)
          .fails(Problem.Code.CONFLICT);

  private static final Operation PAUSE = changing("pauseBox", "Freeze its commands");
  private static final Operation RESUME = changing("resumeBox", "Let them go on");

  private static final Operation CHANGE_NETWORK =
      changing(
              "changeNetwork",
              "Change what it may reach; connections that are not allowed any more are cut")
          .takes(NETWORK)
          .example("network", Map.of("allow", List.of("example.org")));

  private static final Operation STOP =
      Operation.of("stopBox", "End a box")
          .with(BOX, GRACE, WAIT_STOP)
          .answers(200, "done", BoxAnswers.BOX)
          .answers(202, STUCK, BoxAnswers.BOX);

  private static Operation changing(String id, String summary) {
    return Operation.of(id, summary)
        .with(BOX)
        .answers(200, "done", BoxAnswers.BOX)
        .fails(Problem.Code.WRONG_STATE, Problem.Code.UNSUPPORTED);
  }

  private final BoxRegistry boxes;
  private final Policy policy;

  BoxRoutes(BoxRegistry boxes, Policy policy) {
    this.boxes = boxes;
    this.policy = policy;
  }

  List<Route> routes() {
    return List.of(
        Route.of("POST", "/v1/boxes", this::create, CREATE),
        Route.of("GET", "/v1/boxes", this::list, LIST),
        Route.of("GET", "/v1/boxes/{box}", this::inspect, INSPECT),
        Route.ending("DELETE", "/v1/boxes/{box}", this::remove, REMOVE),
        Route.of("POST", "/v1/boxes/{box}/pause", this::pause, PAUSE),
        Route.of("POST", "/v1/boxes/{box}/resume", this::resume, RESUME),
        Route.of("PUT", "/v1/boxes/{box}/network", this::changeNetwork, CHANGE_NETWORK),
        Route.ending("POST", "/v1/boxes/{box}/stop", this::stop, STOP));
  }

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.get(BOX)));
  }

  /** Reports a failure of the end itself, which is no race with it. */
  private TenantBox boxToEnd(Exchange exchange) {
    return boxes.find(exchange.caller(), exchange.get(BOX));
  }

  private void create(Exchange exchange) throws IOException, InterruptedException {
    byte[] body = exchange.body();
    var key = exchange.get(IDEMPOTENCY);
    key.ifPresent(BoxRoutes::checkKey);
    Fields fields = exchange.inTurn(body, () -> Fields.parse(body)).as(Orders.BOX);
    Orders.Ordered ordered = Orders.box(fields, policy.caps());
    policy.check(exchange.caller(), ordered.order().spec());
    var idempotency = key.map(word -> new BoxRegistry.Idempotency(word, digest(body)));
    var created =
        boxes.create(
            exchange.caller(),
            ordered.order(),
            idempotency,
            box -> NewFile.write(box.files(), ordered.files()),
            exchange::hasLeft);
    exchange.answer(created.isNew() ? 201 : 200, BoxAnswers.BOX.write(created.box()));
  }

  private static void checkKey(String key) {
    if (!KEY.matcher(key).matches()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "Idempotency-Key must be 1 to 255 visible characters");
    }
  }

  private static String digest(byte[] body) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private void list(Exchange exchange) throws IOException {
    int limit = Math.toIntExact(exchange.get(LIMIT));
    var labels = exchange.get(LABEL);
    var name = exchange.get(NAME);
    var state = exchange.get(STATE).map(BoxRoutes::state);
    var matching =
        boxes.list(exchange.caller()).stream()
            .filter(box -> labels.stream().allMatch(label -> has(box, label)))
            .filter(box -> name.isEmpty() || name.equals(box.order().name()))
            .filter(box -> state.isEmpty() || state.get() == box.state())
            .toList();
    int from = exchange.get(AFTER).map(after -> indexAfter(matching, after)).orElse(0);
    var page = matching.subList(from, Math.min(matching.size(), from + limit));
    boolean isLast = from + page.size() >= matching.size() || page.isEmpty();
    Optional<String> next = isLast ? Optional.empty() : Optional.of(page.getLast().id());
    exchange.answer(200, BoxAnswers.BOXES.write(new BoxAnswers.Page(page, next)));
  }

  private static int indexAfter(List<TenantBox> boxes, String id) {
    for (int i = 0; i < boxes.size(); i++) {
      if (boxes.get(i).id().equals(id)) {
        return i + 1;
      }
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "no box \"" + id + "\" to list after");
  }

  private static boolean has(TenantBox box, String label) {
    int equals = label.indexOf('=');
    Map<String, String> labels = box.order().labels();
    return equals < 0
        ? labels.containsKey(label)
        : label.substring(equals + 1).equals(labels.get(label.substring(0, equals)));
  }

  private static BoxState state(String word) {
    for (BoxState state : BoxState.values()) {
      if (state.wireName().equals(word)) {
        return state;
      }
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "no state \"" + word + "\"");
  }

  private void inspect(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    var details = new BoxAnswers.Details(box, Inventory.of(boxes, box), Inventory.usage(box));
    exchange.answer(200, BoxAnswers.DETAILS.write(details));
  }

  private void pause(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    box.box().pause();
    exchange.answer(200, BoxAnswers.BOX.write(box));
  }

  private void resume(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    box.box().resume();
    box.use();
    exchange.answer(200, BoxAnswers.BOX.write(box));
  }

  private void changeNetwork(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields(NETWORK);
    Network wanted = fields.get(WANTED).orElseThrow();
    fields.end();
    TenantBox box = box(exchange);
    policy.check(exchange.caller(), wanted);
    box.changeNetwork(wanted);
    exchange.answer(200, BoxAnswers.BOX.write(box));
  }

  private void stop(Exchange exchange) throws IOException, InterruptedException {
    Duration grace = policy.caps().grace(exchange.get(GRACE));
    boolean wait = exchange.get(WAIT_STOP);
    TenantBox box = boxToEnd(exchange);
    if (wait || box.state() == BoxState.GONE) {
      Certificate certificate = boxes.stop(box, grace);
      exchange.answer(certificate.isClean() ? 200 : 202, BoxAnswers.BOX.write(box));
    } else {
      boxes.beginStop(box, grace);
      exchange.answer(202, BoxAnswers.BOX.write(box));
    }
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    boolean force = exchange.get(FORCE);
    boolean wait = exchange.get(WAIT);
    BoxRegistry.Removal removal = boxes.remove(exchange.caller(), exchange.get(BOX), force, wait);
    exchange.answer(removal.isDone() ? 200 : 202, BoxAnswers.REMOVED.write(removal));
  }
}
