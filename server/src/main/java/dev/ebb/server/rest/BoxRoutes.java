package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Network;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.EndedBy;
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
import java.util.regex.Pattern;

/** Boxes: made, listed, paused, ended. */
final class BoxRoutes {
  private static final int PAGE = 100;
  private static final int PAGE_MOST = 1000;
  private static final Pattern KEY = Pattern.compile("[\\x21-\\x7e]{1,255}");

  private final BoxRegistry boxes;
  private final Policy policy;

  BoxRoutes(BoxRegistry boxes, Policy policy) {
    this.boxes = boxes;
    this.policy = policy;
  }

  List<Route> routes() {
    return List.of(
        Route.of("POST", "/v1/boxes", this::create),
        Route.of("GET", "/v1/boxes", this::list, "label", "state", "name", "limit", "after"),
        Route.of("GET", "/v1/boxes/{box}", this::inspect),
        Route.ending("DELETE", "/v1/boxes/{box}", this::remove, "force", "wait"),
        Route.of("POST", "/v1/boxes/{box}/pause", this::pause),
        Route.of("POST", "/v1/boxes/{box}/resume", this::resume),
        Route.of("PUT", "/v1/boxes/{box}/network", this::changeNetwork),
        Route.ending("POST", "/v1/boxes/{box}/stop", this::stop, "graceMillis", "wait"));
  }

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.path("box")));
  }

  /** What goes wrong with its end is no race with its end. */
  private TenantBox boxToEnd(Exchange exchange) {
    return boxes.find(exchange.caller(), exchange.path("box"));
  }

  private void create(Exchange exchange) throws IOException, InterruptedException {
    byte[] body = exchange.body();
    var key = exchange.header("Idempotency-Key");
    key.ifPresent(BoxRoutes::checkKey);
    Fields fields = exchange.inTurn(body, () -> Fields.parse(body));
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
    exchange.answer(created.isNew() ? 201 : 200, Documents.box(created.box()));
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
    int limit = (int) exchange.number("limit", PAGE, PAGE_MOST);
    var labels = exchange.queries("label");
    var name = exchange.query("name");
    var state = exchange.query("state").map(BoxRoutes::state);
    var matching =
        boxes.list(exchange.caller()).stream()
            .filter(box -> labels.stream().allMatch(label -> has(box, label)))
            .filter(box -> name.isEmpty() || name.equals(box.order().name()))
            .filter(box -> state.isEmpty() || state.get() == box.state())
            .toList();
    int from = exchange.query("after").map(after -> indexAfter(matching, after)).orElse(0);
    var page = matching.subList(from, Math.min(matching.size(), from + limit));
    var answer = Documents.object("boxes", page.stream().map(Documents::box).toList());
    if (from + page.size() < matching.size() && !page.isEmpty()) {
      answer.put("next", page.getLast().id());
    }
    exchange.answer(200, answer);
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
      if (state.word().equals(word)) {
        return state;
      }
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "no state \"" + word + "\"");
  }

  private void inspect(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    var document = Documents.box(box);
    document.put("holdings", InventoryDocuments.of(Inventory.of(boxes, box)));
    Inventory.usage(box).ifPresent(usage -> document.put("usage", InventoryDocuments.usage(usage)));
    exchange.answer(200, document);
  }

  private void pause(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    box.box().pause();
    exchange.answer(200, Documents.box(box));
  }

  private void resume(Exchange exchange) throws IOException {
    TenantBox box = box(exchange);
    box.box().resume();
    box.use();
    exchange.answer(200, Documents.box(box));
  }

  private void changeNetwork(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    Network wanted =
        Orders.network(fields)
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"network\" is missing"));
    fields.end();
    TenantBox box = box(exchange);
    policy.check(exchange.caller(), wanted);
    box.changeNetwork(wanted);
    exchange.answer(200, Documents.box(box));
  }

  private void stop(Exchange exchange) throws IOException, InterruptedException {
    Duration grace = policy.caps().grace(exchange.millis("graceMillis", ExecSpec.DEFAULT_GRACE));
    boolean wait = exchange.flag("wait", true);
    TenantBox box = boxToEnd(exchange);
    if (wait || box.state() == BoxState.GONE) {
      Certificate certificate = box.end(grace, EndedBy.REQUEST);
      exchange.answer(certificate.isClean() ? 200 : 202, Documents.box(box));
    } else {
      boxes.beginStop(box, grace);
      exchange.answer(202, Documents.box(box));
    }
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    boolean force = exchange.flag("force", false);
    boolean wait = exchange.flag("wait", true);
    BoxRegistry.Removal removal =
        boxes.remove(exchange.caller(), exchange.path("box"), force, wait);
    var document = Documents.object("id", removal.id());
    removal
        .certificate()
        .ifPresent(proof -> document.put("certificate", Documents.certificate(proof)));
    exchange.answer(removal.isDone() ? 200 : 202, document);
  }
}
