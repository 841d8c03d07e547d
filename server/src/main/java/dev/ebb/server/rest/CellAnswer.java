package dev.ebb.server.rest;

import dev.ebb.code.Cell;
import dev.ebb.server.boxes.ServedContext;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;

/**
 * The answer to whoever waits for a cell: JSON, with white space ahead when it is late, or events
 * as the cell writes and shows. A caller who goes away takes the cell along.
 */
final class CellAnswer {
  /** How much longer than its grace the end of a cell may take. */
  private static final Duration LADDER_SLACK = Duration.ofSeconds(60);

  private final Exchange exchange;
  private final ServedContext context;
  private final ServedContext.Ordered ordered;
  private final Last last;

  /** What is told at last, of a cell that has ended. */
  interface Last {
    /**
     * Makes the document.
     *
     * @param isWhole with what it wrote and showed, which was not told before
     */
    Map<String, Object> document(boolean isWhole) throws IOException, InterruptedException;
  }

  private CellAnswer(
      Exchange exchange, ServedContext context, ServedContext.Ordered ordered, Last last) {
    this.exchange = exchange;
    this.context = context;
    this.ordered = ordered;
    this.last = last;
  }

  /** Answers when the cell has ended, or from now on, as the caller wants it. */
  static void give(
      Exchange exchange,
      ServedContext context,
      ServedContext.Ordered ordered,
      Duration grace,
      Last last)
      throws IOException, InterruptedException {
    var answer = new CellAnswer(exchange, context, ordered, last);
    try {
      if (exchange.accepts("text/event-stream")) {
        answer.stream();
      } else {
        answer.whole();
      }
    } catch (IOException | InterruptedException | RuntimeException e) {
      ordered.cancel();
      ordered.cell().await(grace.plus(LADDER_SLACK));
      throw e;
    }
  }

  private void whole() throws IOException, InterruptedException {
    Cell cell = ordered.cell();
    if (cell.await(EventStream.HEARTBEAT).isPresent()) {
      exchange.answer(200, last.document(true));
      return;
    }
    try (OutputStream out = exchange.stream(200, "application/json")) {
      do {
        out.write('\n');
        out.flush();
      } while (cell.await(EventStream.HEARTBEAT).isEmpty());
      JsonOutput.write(last.document(true), out);
    }
  }

  private void stream() throws IOException, InterruptedException {
    Cell cell = ordered.cell();
    var events = new EventStream(exchange);
    events.start(Documents.object("context", context.id(), "number", cell.number()));
    var at = EventStream.Position.START;
    int shown = 0;
    while (true) {
      boolean hasEnded = cell.result().isPresent();
      var before = at;
      int shownBefore = shown;
      if (cell.section().isPresent()) {
        at = events.tell(cell.section().get(), at);
      }
      for (Cell.Shown each : cell.shown(shown)) {
        shown++;
        events.send(each.isResult() ? "result" : "display", at.toString(), Documents.forms(each));
      }
      if (!at.equals(before) || shown > shownBefore) {
        continue;
      }
      if (hasEnded) {
        events.end(at, last.document(false));
        return;
      }
      events.beat();
      cell.awaitNews(at.stdout(), at.stderr(), shown, EventStream.HEARTBEAT);
    }
  }
}
