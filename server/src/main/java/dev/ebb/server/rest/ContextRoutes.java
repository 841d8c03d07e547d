package dev.ebb.server.rest;

import dev.ebb.cgroup.ByteSize;
import dev.ebb.code.CellOrder;
import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.exec.ExecSpec;
import dev.ebb.server.access.Caps;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedContext;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Stateful interpreters of a box: made, given code, interrupted, made anew, removed. */
final class ContextRoutes {
  private static final Duration CELL_TIMEOUT = Duration.ofSeconds(60);

  private final Boxes boxes;
  private final Policy policy;
  private final Languages languages = Languages.ofHost();

  ContextRoutes(Boxes boxes, Policy policy) {
    this.boxes = boxes;
    this.policy = policy;
  }

  List<Route> routes() {
    String all = "/v1/boxes/{box}/contexts";
    String one = all + "/{context}";
    return List.of(
        Route.of("POST", all, this::create),
        Route.of("GET", all, this::list),
        Route.of("GET", one, this::get),
        Route.ending("DELETE", one, this::remove),
        Route.of("POST", one + "/cells", this::run),
        Route.ending("POST", one + "/interrupt", this::interrupt),
        Route.of("POST", one + "/restart", this::restart));
  }

  private ServedBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.path("box")));
  }

  private ServedContext context(Exchange exchange) {
    return box(exchange).context(exchange.path("context"));
  }

  // --- contexts ---

  private void create(Exchange exchange) throws IOException, InterruptedException {
    ServedBox box = box(exchange);
    ServedContext.Order order = order(exchange.fields(), policy.caps());
    ServedContext made = boxes.createContext(box, order, exchange::hasLeft);
    exchange.answer(201, Documents.context(made));
  }

  private ServedContext.Order order(Fields fields, Caps caps) {
    String word =
        fields
            .text("language")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"language\" is missing"));
    Runner runner = Runner.of(languages.require(word));
    ServedContext.Order order = Orders.interpreter(fields.text("name"), runner, caps);
    var spec = order.spec().withEnvironment(fields.textMap("environment"));
    long output =
        fields.limit(
            "outputLimitBytes",
            0,
            Long.MAX_VALUE,
            ExecSpec.DEFAULT_OUTPUT_LIMIT.bytes(),
            caps.output().bytes());
    spec = spec.withOutputLimit(new ByteSize(output));
    var workdir = fields.text("workdir");
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    fields.end();
    return new ServedContext.Order(order.name(), runner, spec);
  }

  private void list(Exchange exchange) throws IOException {
    var contexts = box(exchange).contexts().stream().map(Documents::context).toList();
    exchange.answer(200, Documents.object("contexts", contexts));
  }

  private void get(Exchange exchange) throws IOException {
    exchange.answer(200, Documents.context(context(exchange)));
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    ServedContext context = context(exchange);
    context.box().remove(context);
    exchange.answer(200, Documents.context(context));
  }

  private void interrupt(Exchange exchange) throws IOException {
    ServedContext context = context(exchange);
    boolean interrupted = context.interrupt();
    var document = Documents.context(context);
    document.put("interrupted", interrupted);
    exchange.answer(200, document);
  }

  private void restart(Exchange exchange) throws IOException, InterruptedException {
    ServedContext context = context(exchange);
    boxes.restart(context, exchange::hasLeft);
    exchange.answer(200, Documents.context(context));
  }

  // --- cells ---

  private void run(Exchange exchange) throws IOException, InterruptedException {
    ServedContext context = context(exchange);
    CellOrder order = cell(exchange.fields(), policy.caps());
    try (ServedContext.Ordered ordered = context.submit(order)) {
      CellAnswer.give(
          exchange,
          context,
          ordered,
          order.grace(),
          isWhole -> Documents.cell(exchange, context, ordered.cell(), isWhole));
    }
  }

  static CellOrder cell(Fields fields, Caps caps) {
    String code =
        fields
            .text("code")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"code\" is missing"));
    var environment = fields.textMap("environment");
    Duration timeout = fields.limit("timeoutMillis", CELL_TIMEOUT, caps.timeout());
    Duration grace = Orders.grace(fields, caps);
    fields.end();
    return new CellOrder(code, environment, timeout, grace);
  }
}
