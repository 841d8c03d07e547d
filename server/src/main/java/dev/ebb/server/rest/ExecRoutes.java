package dev.ebb.server.rest;

import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Patience;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.CommandTask;
import dev.ebb.server.service.ExecSignal;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.RunService.Place;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Commands: starts, awaits and kills them. */
final class ExecRoutes {
  private static final Duration RUN_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration LONG = Duration.ofDays(3650);

  // --- parameters ---

  static final Parameter<String> EXEC = Parameter.numberInPath("exec");

  private static final Parameter<Boolean> WAIT_END = Parameter.flag("wait", false);
  private static final Parameter<Boolean> DETACH =
      Parameter.flag("detach", false).described("go on when the caller of wait=true goes away");
  private static final Parameter<Boolean> DETACH_RUN =
      Parameter.flag("detach", false)
          .described("answer at once; the box is removed when the command has ended");
  private static final Parameter<Boolean> WAIT =
      Parameter.flag("wait", true).described("false answers at once; true unless given");
  private static final Parameter<Duration> PATIENCE = Parameter.millis("timeoutMillis", LONG);
  private static final Parameter<Optional<String>> SIGNAL =
      Parameter.text("signal").with("default", "TERM");

  // --- a command in a box of its own ---

  private static final Field<Fields> BOX = Field.part("box", Orders.BOX);
  private static final Field<Fields> COMMAND =
      Field.part("exec", CommandOrders.COMMANDS).required();
  private static final RequestSchema RUN_ORDER = RequestSchema.named("RunRequest", BOX, COMMAND);

  // --- operations ---

  private static final Operation START =
      Operation.of("startExec", "Start a command")
          .with(BoxRoutes.BOX, WAIT_END, DETACH)
          .takes(CommandOrders.COMMANDS)
          .example("command", List.of("python3", "-c", "print(6*7)"))
          .answers(201, "made", ExecAnswers.EXEC)
          .answers(200, "done", ExecAnswers.RESULT)
          .answersEvents()
          .fails(Problem.Code.WRONG_STATE);

  private static final Operation LIST =
      Operation.of("listExecs", "List commands")
          .with(BoxRoutes.BOX)
          .answers(200, "done", ExecAnswers.EXECS);

  private static final Operation KILL_ALL =
      Operation.of("killAll", "Kill all its commands at once")
          .with(BoxRoutes.BOX, BoxRoutes.GRACE, WAIT)
          .answers(200, "done", ExecAnswers.EXECS);

  private static final Operation GET = on("getExec", "Inspect a command");
  private static final Operation AWAIT = on("waitForExec", "Wait for its end").with(PATIENCE);
  private static final Operation KILL =
      on("killExec", "Kill a command by the ladder, or send it a signal")
          .with(SIGNAL, BoxRoutes.GRACE, WAIT);

  private static final Operation RUN =
      Operation.of("run", "Run one command in a box of its own")
          .with(DETACH_RUN, CertificateRoutes.OF_RUN)
          .takes(RUN_ORDER)
          .example("exec", Map.of("command", List.of("python3", "-c", "print(6*7)")))
          .answers(200, "done", ExecAnswers.RUN)
          .answersEvents()
          .answers(201, "begun", ExecAnswers.EXEC)
          .fails(Problem.Code.CONFLICT, Problem.Code.SETUP_FAILED);

  private static Operation on(String id, String summary) {
    return Operation.of(id, summary)
        .with(BoxRoutes.BOX, EXEC)
        .answers(200, "done", ExecAnswers.EXEC);
  }

  private final BoxRegistry boxes;
  private final RunService runs;
  private final Policy policy;

  ExecRoutes(BoxRegistry boxes, RunService runs, Policy policy) {
    this.boxes = boxes;
    this.runs = runs;
    this.policy = policy;
  }

  List<Route> routes() {
    String exec = "/v1/boxes/{box}/execs/{exec}";
    return List.of(
        Route.of("POST", "/v1/boxes/{box}/execs", this::start, START),
        Route.of("GET", "/v1/boxes/{box}/execs", this::list, LIST),
        Route.ending("POST", "/v1/boxes/{box}/kill-all", this::killAll, KILL_ALL),
        Route.of("GET", exec, this::get, GET),
        Route.of("GET", exec + "/wait", this::await, AWAIT),
        Route.ending("POST", exec + "/kill", this::kill, KILL),
        Route.of("POST", "/v1/run", this::run, RUN));
  }

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.get(BoxRoutes.BOX)));
  }

  private TenantExec exec(Exchange exchange) {
    return exec(exchange, boxes);
  }

  /** Returns the command that the path names. */
  static TenantExec exec(Exchange exchange, BoxRegistry boxes) {
    String word = exchange.get(EXEC);
    TenantBox box = exchange.about(boxes.find(exchange.caller(), exchange.get(BoxRoutes.BOX)));
    try {
      return box.exec(Integer.parseInt(word));
    } catch (NumberFormatException e) {
      throw new Problem(Problem.Code.NOT_FOUND, "an exec is a number, not \"" + word + "\"");
    }
  }

  private void list(Exchange exchange) throws IOException {
    exchange.answer(200, ExecAnswers.execs(box(exchange).execs()));
  }

  private void get(Exchange exchange) throws IOException {
    exchange.answer(200, ExecAnswers.exec(exec(exchange)));
  }

  // --- start ---

  private void start(Exchange exchange) throws IOException, InterruptedException {
    boolean wait = exchange.get(WAIT_END);
    boolean detach = exchange.get(DETACH);
    Fields fields = exchange.fields(CommandOrders.COMMANDS);
    CommandTask command = CommandOrders.command(fields, Duration.ZERO, policy.caps());
    permit(exchange, command);
    WaitingResponse answer = WaitingResponse.to(exchange).leaving(detach);
    if (wait) {
      TenantExec exec = runs.run(box(exchange), command, answer);
      answer.end(ExecAnswers.RESULT.write(answer.whole(exec)));
    } else {
      TenantExec exec = runs.start(box(exchange), command, answer);
      exchange.answer(201, ExecAnswers.exec(exec));
    }
  }

  private static void permit(Exchange exchange, CommandTask command) {
    if (command.spec().operator() && !exchange.caller().isAdmin()) {
      throw new Problem(Problem.Code.FORBIDDEN, "\"operator\" needs an admin key");
    }
  }

  private void run(Exchange exchange) throws IOException, InterruptedException {
    boolean detach = exchange.get(DETACH_RUN);
    boolean waits = CertificateRoutes.isAwaited(exchange);
    Fields fields = exchange.fields(RUN_ORDER);
    Orders.Ordered ordered = Orders.box(fields.get(BOX), policy.caps());
    CommandTask command =
        CommandOrders.command(
            fields.get(COMMAND), detach ? Duration.ZERO : RUN_TIMEOUT, policy.caps());
    fields.end();
    if (ordered.order().detached() && !detach) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"box.detached\": a box that goes with its caller cannot be");
    }
    if (detach && waits) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"certificate\" is for a run that is not in the background");
    }
    permit(exchange, command);
    policy.check(exchange.caller(), ordered.order().spec());
    WaitingResponse answer = WaitingResponse.to(exchange);
    if (detach) {
      var place = new Place(ordered.order().forOneCommand(), ordered.files(), false);
      runs.startAlone(
          exchange.caller(),
          place,
          command,
          answer,
          exec -> _ -> exchange.answer(201, ExecAnswers.exec(exec)));
    } else {
      var place = new Place(ordered.order(), ordered.files(), waits);
      runs.runAlone(
          exchange.caller(),
          place,
          command,
          answer,
          exec -> answer.ending(ExecAnswers.RUN, ExecAnswers.RESULT.write(answer.result(exec))));
    }
  }

  // --- end ---

  private void await(Exchange exchange) throws IOException, InterruptedException {
    Patience left = Patience.of(exchange.get(PATIENCE));
    TenantExec exec = exec(exchange);
    LateAnswer.await(
        exchange,
        left,
        patience -> exec.awaitSurely(patience).isPresent(),
        () -> ExecAnswers.exec(exec));
  }

  private void kill(Exchange exchange) throws IOException, InterruptedException {
    String signal = exchange.get(SIGNAL).orElse("TERM");
    Duration grace = policy.caps().grace(exchange.get(BoxRoutes.GRACE));
    boolean wait = exchange.get(WAIT);
    TenantExec exec = exec(exchange);
    ExecSignal known =
        ExecSignal.of(signal)
            .orElseThrow(
                () -> new Problem(Problem.Code.BAD_REQUEST, "unknown signal \"" + signal + "\""));
    known.send(exec, grace);
    if (wait && known.isEnding()) {
      exec.awaitSurely(grace.plus(WaitingResponse.LADDER_SLACK));
    }
    exchange.answer(200, ExecAnswers.exec(exec));
  }

  private void killAll(Exchange exchange) throws IOException, InterruptedException {
    Duration grace = policy.caps().grace(exchange.get(BoxRoutes.GRACE));
    boolean wait = exchange.get(WAIT);
    var killed = box(exchange).killAll(grace);
    if (wait) {
      for (TenantExec exec : killed) {
        exec.awaitSurely(grace.plus(WaitingResponse.LADDER_SLACK));
      }
    }
    exchange.answer(200, ExecAnswers.execs(killed));
  }
}
