package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.model.CellOrder;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.http.Route;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Stateful interpreters of a box: makes, uses, interrupts, restarts and removes them. */
final class ContextRoutes {
  private static final Duration CELL_TIMEOUT = Duration.ofSeconds(60);

  private static final Parameter<String> CONTEXT =
      Parameter.path("context").described("id or name");

  // --- a context as it is ordered ---

  private static final Field<String> LANGUAGE =
      Field.requiredText("language").described("python, javascript or bash, or an alias");
  private static final Field<Optional<String>> NAME =
      Field.text("name").described("by which it can be found in its box, beside its id");
  private static final Field<Map<String, String>> ENVIRONMENT = Field.textMap("environment");
  private static final Field<Optional<String>> WORKDIR =
      Field.text("workdir").described("/workspace unless given");
  private static final Field<OptionalLong> OUTPUT_LIMIT =
      CommandOrders.outputLimit("of each cell; what is above it is thrown away");
  private static final RequestSchema ORDER =
      RequestSchema.named("ContextRequest", LANGUAGE, NAME, ENVIRONMENT, WORKDIR, OUTPUT_LIMIT);

  // --- a cell as it is ordered ---

  private static final Field<String> CODE = Field.requiredText("code");
  private static final Field<Map<String, String>> CELL_ENVIRONMENT =
      Field.textMap("environment").described("while it runs");
  private static final Field<Optional<Duration>> TIMEOUT =
      Field.millis("timeoutMillis")
          .described("after which it is interrupted; 60000 unless given, 0: none");
  private static final Field<OptionalLong> GRACE =
      CommandOrders.graceField(
          "between the interrupt and the end of the interpreter; 5000 unless given");
  static final RequestSchema CELL =
      RequestSchema.named("CellRequest", CODE, CELL_ENVIRONMENT, TIMEOUT, GRACE);

  // --- operations ---

  private static final Operation CREATE =
      Operation.of("createContext", "Start a stateful interpreter")
          .with(BoxRoutes.BOX)
          .takes(ORDER)
          .example("language", "python", "name", "analysis")
          .answers(201, "made", CodeAnswers.CONTEXT)
          .fails(Problem.Code.CONFLICT, Problem.Code.WRONG_STATE, Problem.Code.UNSUPPORTED);

  private static final Operation LIST =
      Operation.of("listContexts", "List contexts")
          .with(BoxRoutes.BOX)
          .answers(200, "done", CodeAnswers.CONTEXTS);

  private static final Operation REMOVE =
      Operation.of("removeContext", "End a context, and all that its code started")
          .with(BoxRoutes.BOX, CONTEXT)
          .answers(200, "gone", CodeAnswers.CONTEXT);

  private static final Operation RUN =
      Operation.of("runCell", "Run code in a context, after all that was ordered before")
          .with(BoxRoutes.BOX, CONTEXT)
          .takes(CELL)
          .example("code", "6*7")
          .answers(200, CodeRoutes.RAN, CodeAnswers.CELL)
          .answersEvents()
          .fails(Problem.Code.WRONG_STATE);

  private static final Operation INTERRUPT =
      on(
          "interruptContext",
          "Interrupt the cell that runs, and keep the state",
          CodeAnswers.INTERRUPTED);

  private static final Operation RESTART =
      on("restartContext", "End the interpreter, and start another", CodeAnswers.CONTEXT);

  private static Operation on(String id, String summary, ObjectSchema<?> answer) {
    return Operation.of(id, summary)
        .with(BoxRoutes.BOX, CONTEXT)
        .answers(200, "done", answer)
        .fails(Problem.Code.WRONG_STATE);
  }

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
        Route.of("POST", all, this::create, CREATE),
        Route.of("GET", all, this::list, LIST),
        Route.of("GET", one, this::get, on("getContext", "Inspect a context", CodeAnswers.CONTEXT)),
        Route.ending("DELETE", one, this::remove, REMOVE),
        Route.of("POST", one + "/cells", this::run, RUN),
        Route.ending("POST", one + "/interrupt", this::interrupt, INTERRUPT),
        Route.of("POST", one + "/restart", this::restart, RESTART));
  }

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.get(BoxRoutes.BOX)));
  }

  private TenantContext context(Exchange exchange) {
    return box(exchange).context(exchange.get(CONTEXT));
  }

  // --- contexts ---

  private void create(Exchange exchange) throws IOException, InterruptedException {
    TenantBox box = box(exchange);
    TenantContext.Order order = order(exchange.fields(ORDER), policy.caps());
    TenantContext made = boxes.createContext(box, order, exchange::hasLeft);
    exchange.answer(201, CodeAnswers.CONTEXT.write(made));
  }

  private TenantContext.Order order(Fields fields, Caps caps) {
    Runner runner = Runner.of(languages.require(fields.get(LANGUAGE)));
    TenantContext.Order order = OrderFields.interpreter(fields.get(NAME), runner, caps);
    var spec = order.spec().withEnvironment(fields.get(ENVIRONMENT));
    spec = spec.withOutputLimit(CommandOrders.outputLimit(fields, OUTPUT_LIMIT, caps));
    var workdir = fields.get(WORKDIR);
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    fields.end();
    return new TenantContext.Order(order.name(), runner, spec);
  }

  private void list(Exchange exchange) throws IOException {
    exchange.answer(200, CodeAnswers.CONTEXTS.write(box(exchange).contexts()));
  }

  private void get(Exchange exchange) throws IOException {
    exchange.answer(200, CodeAnswers.CONTEXT.write(context(exchange)));
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    context.box().remove(context);
    exchange.answer(200, CodeAnswers.CONTEXT.write(context));
  }

  private void interrupt(Exchange exchange) throws IOException {
    TenantContext context = context(exchange);
    var interrupted = new CodeAnswers.Interrupted(context, context.interrupt());
    exchange.answer(200, CodeAnswers.INTERRUPTED.write(interrupted));
  }

  private void restart(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    boxes.restart(context, exchange::hasLeft);
    exchange.answer(200, CodeAnswers.CONTEXT.write(context));
  }

  // --- cells ---

  private void run(Exchange exchange) throws IOException, InterruptedException {
    TenantContext context = context(exchange);
    CellOrder order = cell(exchange.fields(CELL), policy.caps());
    WaitingResponse answer = WaitingResponse.to(exchange);
    runs.cell(
        context,
        order,
        answer,
        cell -> {
          answer.end(CodeAnswers.CELL.write(answer.state(context, cell)));
          return cell;
        });
  }

  static CellOrder cell(Fields fields, Caps caps) {
    String code = fields.get(CODE);
    var environment = fields.get(CELL_ENVIRONMENT);
    Duration timeout = fields.limit(TIMEOUT, CELL_TIMEOUT, caps.timeout());
    Duration grace = CommandOrders.grace(fields, GRACE, caps);
    fields.end();
    return new CellOrder(code, environment, timeout, grace);
  }
}
