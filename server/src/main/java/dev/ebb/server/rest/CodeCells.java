package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedContext;
import dev.ebb.server.code.CellRun;
import dev.ebb.server.code.CellTask;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/** Code that is run by an interpreter that tells values and figures. */
final class CodeCells {
  private final Boxes boxes;
  private final Policy policy;
  private final Languages languages;

  CodeCells(Boxes boxes, Policy policy, Languages languages) {
    this.boxes = boxes;
    this.policy = policy;
    this.languages = languages;
  }

  void run(Exchange exchange, Fields fields) throws IOException, InterruptedException {
    CellCode order = CellCode.parse(fields, languages, policy.caps());
    if (order.place().isPresent()) {
      answer(exchange, find(exchange, order, order.place().get()), order.task(), _ -> {});
    } else {
      runAlone(exchange, order);
    }
  }

  private ServedContext find(Exchange exchange, CellCode order, CellCode.Place place) {
    ServedContext context =
        exchange.about(boxes.find(exchange.caller(), place.box())).context(place.context());
    String spoken = context.order().runner().word();
    if (order.language().filter(wanted -> !wanted.name().equals(spoken)).isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST,
          "\"language\" is %s, but context %s of box %s is one of %s"
              .formatted(order.language().get().name(), context.id(), context.box().id(), spoken));
    }
    return context;
  }

  /** In a box and a context that go with it. */
  private void runAlone(Exchange exchange, CellCode order)
      throws IOException, InterruptedException {
    var interpreter =
        Orders.interpreter(
            Optional.empty(), Runner.of(order.language().orElseThrow()), policy.caps());
    policy.check(exchange.caller(), order.box().spec());
    ServedBox box =
        boxes
            .create(exchange.caller(), order.box(), Optional.empty(), _ -> {}, exchange::hasLeft)
            .box();
    try {
      ServedContext context = boxes.createContext(box, interpreter, exchange::hasLeft);
      answer(exchange, context, order.task(), document -> end(box, order, document));
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      boxes.remove(box, true);
      throw e;
    }
  }

  private void end(ServedBox box, CellCode order, Map<String, Object> document)
      throws InterruptedException {
    if (order.certificate()) {
      document.put("certificate", Documents.certificate(boxes.remove(box, true)));
    } else {
      boxes.removeAside(box);
    }
  }

  private interface Closing {
    void close(Map<String, Object> document) throws InterruptedException;
  }

  private void answer(Exchange exchange, ServedContext context, CellTask task, Closing closing)
      throws IOException, InterruptedException {
    try (CellRun run = CellRun.begin(boxes, context, task, exchange::hasLeft)) {
      CellAnswer.give(
          exchange,
          context,
          run.ordered(),
          task.cell().grace(),
          isWhole -> {
            var document =
                Documents.object(
                    "language",
                    context.order().runner().word(),
                    "phase",
                    "run",
                    "box",
                    context.box().id());
            document.putAll(Documents.cell(exchange, context, run.ordered().cell(), isWhole));
            Documents.addWritten(document, run.written(exchange::hasRoomFor));
            closing.close(document);
            return document;
          });
    }
  }
}
