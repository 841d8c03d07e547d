package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.server.answer.CellState;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.CellRun;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs code in an interpreter that returns values and figures. */
final class CodeCells {
  private final BoxRegistry boxes;
  private final RunService runs;
  private final Policy policy;
  private final Languages languages;

  CodeCells(BoxRegistry boxes, RunService runs, Policy policy, Languages languages) {
    this.boxes = boxes;
    this.runs = runs;
    this.policy = policy;
    this.languages = languages;
  }

  void run(Exchange exchange, Fields fields, boolean waits)
      throws IOException, InterruptedException {
    CellCode order = CellCode.parse(fields, languages, policy.caps());
    WaitingResponse answer = WaitingResponse.to(exchange);
    if (order.place().isEmpty()) {
      runAlone(exchange, order, waits, answer);
      return;
    }
    if (waits) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"certificate\" is for code in a box of its own");
    }
    TenantContext context = find(exchange, order, order.place().get());
    runs.cell(
        context,
        order.task(),
        answer,
        run -> {
          answer.end(document(run, answer));
          return run;
        });
  }

  private TenantContext find(Exchange exchange, CellCode order, CellCode.Place place) {
    TenantContext context =
        exchange.about(boxes.find(exchange.caller(), place.box())).context(place.context());
    String spoken = context.order().runner().wireName();
    if (order.language().filter(wanted -> !wanted.name().equals(spoken)).isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST,
          "\"language\" is %s, but context %s of box %s is one of %s"
              .formatted(order.language().get().name(), context.id(), context.box().id(), spoken));
    }
    return context;
  }

  /** Runs it in a box and a context that are removed with the answer. */
  private void runAlone(Exchange exchange, CellCode order, boolean waits, WaitingResponse answer)
      throws IOException, InterruptedException {
    var interpreter =
        OrderFields.interpreter(
            Optional.empty(), Runner.of(order.language().orElseThrow()), policy.caps());
    policy.check(exchange.caller(), order.box().spec());
    runs.cellAlone(
        exchange.caller(),
        new RunService.Place(order.box(), List.of(), waits),
        interpreter,
        order.task(),
        answer,
        run -> answer.ending(CodeAnswers.CELL_CODE, document(run, answer)));
  }

  private static Map<String, Object> document(CellRun run, WaitingResponse answer)
      throws IOException, InterruptedException {
    CellState state = answer.state(run.context(), run.cell());
    return CodeAnswers.ran(state, run.written(answer));
  }
}
