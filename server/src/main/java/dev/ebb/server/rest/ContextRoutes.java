package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExecSpec;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Stateful interpreters of a box: made, given code, interrupted, made anew, removed. */
final class ContextRoutes {
  private static final Duration CELL_TIMEOUT = Duration.ofSeconds(60);

  private final BoxRegistry boxes;
  private final RunService runs;
  private final Policy policy;
  private final Languages languages = Languages.ofHost();

  ContextRoutes(BoxRegistry boxes, RunService runs, Policy policy) {
    this.boxes = boxes;
    this.runs = runs;
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

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.path("box")));
  }

  private TenantContext context(Exchange exchange) {
    return box(exchange).context(exchange.path("context"));
  }

  // --- contexts ---

  private void create(Exchange exchange) throws IOException, InterruptedException {
    TenantBox box = box(exchange);
    TenantContext.Order order = order(exchange.fields(), policy.caps());
    TenantContext made = boxes.createContext(box, order, exchange::hasLeft);
    exchange.answer(201, Documents.context(made));
  }

  private TenantContext.Order order(Fields fields, Caps caps) {
    String word =
        fields
            .text("language")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"language\" is missing"));
    Runner runner = Runner.of(languages.require(word));
    TenantContext.Order order = OrderFields.interpreter(fields.text("name"), runner, caps);
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
    return new TenantContext.Order(order.name(), runner, spec);
  }

  private void list(Exchange exchange) throws IOException {
    var contexts = box(exchange).contexts().stream().map(Documents::context).toList();
    exchange.answer(200, Documents.object("contexts", contexts));
  }

  private void get(Exchange exchange) throws IOException {
    exchange.answer(200, Documents.context(context(exchange)));
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    context.box().remove(context);
    exchange.answer(200, Documents.context(context));
  }

  private void interrupt(Exchange exchange) throws IOException {
    TenantContext context = context(exchange);
    boolean interrupted = context.interrupt();
    var document = Documents.context(context);
    document.put("interrupted", interrupted);
    exchange.answer(200, document);
  }

  private void restart(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    boxes.restart(context, exchange::hasLeft);
    exchange.answer(200, Documents.context(context));
  }

  // --- cells ---

  private void run(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    CellOrder order = cell(exchange.fields(), policy.caps());
    WaitingResponse answer = WaitingResponse.to(exchange);
    runs.cell(
        context,
        order,
        answer,
        cell -> {
          answer.end(Documents.cell(exchange, context, cell, answer.isWhole()));
          return cell;
        });
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
