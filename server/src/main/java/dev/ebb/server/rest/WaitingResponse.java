package dev.ebb.server.rest;

import dev.ebb.code.Cell;
import dev.ebb.model.OutputLoss;
import dev.ebb.server.answer.CellState;
import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.JsonOutput;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.service.RunClient;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a client that waits for commands in sequence, or for a cell: events, or JSON
 * preceded by white space while the client waits, so that both ends detect a lost connection. A
 * client that disconnects ends the command, unless the request says otherwise.
 */
abstract class WaitingResponse implements RunClient {
  /** How much longer than its grace a kill may take. */
  static final Duration LADDER_SLACK = Duration.ofSeconds(30);

  private final Exchange exchange;
  private boolean isLeft;

  private WaitingResponse(Exchange exchange) {
    this.exchange = exchange;
  }

  @Override
  public final boolean hasRoomFor(long bytes) throws InterruptedException {
    return exchange.hasRoomFor(bytes);
  }

  /** Makes it in the form that the caller requests. Nothing is sent yet. */
  static WaitingResponse to(Exchange exchange) {
    String type = exchange.negotiate("application/json", EventStream.TYPE);
    return type.equals(EventStream.TYPE) ? new Events(exchange) : new Whole(exchange);
  }

  /** The command then continues without a caller. */
  final WaitingResponse leaving(boolean isLeft) {
    this.isLeft = isLeft;
    return this;
  }

  @Override
  public final boolean hasLeft() {
    return exchange.hasLeft();
  }

  @Override
  public final TenantMemory.Claim keep(byte[] bytes) {
    return exchange.keep(bytes);
  }

  @Override
  public final void onStarted() {
    exchange.forgetBody();
  }

  @Override
  public final boolean endsWithClient() {
    return !isLeft;
  }

  /** Returns whether the document holds the output of the command, which was not sent before. */
  abstract boolean isWhole();

  /** Returns the output that was to be sent before the document and could not be read. */
  abstract OutputLoss unread();

  abstract void end(Map<String, Object> document) throws IOException;

  /** Ends with this document, and the release of a box of its own. */
  final RunService.Sending ending(
      ObjectSchema<ExecAnswers.Released> schema, Map<String, Object> document) {
    return release -> end(schema.write(new ExecAnswers.Released(document, release)));
  }

  // --- what is answered ---

  /** Returns a command that has ended, with its output even if that was sent before. */
  final ExecAnswers.Result whole(TenantExec exec) throws InterruptedException {
    return ExecAnswers.Result.whole(exchange, exec).without(unread());
  }

  /** Returns a command that has ended, with its output unless that was sent before. */
  final ExecAnswers.Result result(TenantExec exec) throws InterruptedException {
    return isWhole()
        ? ExecAnswers.Result.whole(exchange, exec)
        : ExecAnswers.Result.sent(exec, unread());
  }

  /** Returns a cell that has ended. */
  final CellState state(TenantContext context, Cell cell) throws InterruptedException {
    return isWhole()
        ? CellState.whole(exchange, context, cell)
        : CellState.sent(context, cell, unread());
  }

  private static final class Whole extends WaitingResponse {
    private final Exchange exchange;
    private @Nullable OutputStream out;

    private Whole(Exchange exchange) {
      super(exchange);
      this.exchange = exchange;
    }

    @Override
    public void beat(Progress progress) throws IOException {
      if (out == null) {
        out = exchange.stream(200, "application/json");
      }
      out.write('\n');
      out.flush();
    }

    @Override
    boolean isWhole() {
      return true;
    }

    @Override
    OutputLoss unread() {
      return OutputLoss.NONE;
    }

    @Override
    void end(Map<String, Object> document) throws IOException {
      if (out == null) {
        exchange.answer(200, document);
        return;
      }
      try (OutputStream last = out) {
        JsonOutput.write(document, last);
      }
    }
  }

  private static final class Events extends WaitingResponse {
    private final Exchange exchange;
    private @Nullable OutputEvents events;
    private OutputEvents.Position at = OutputEvents.Position.START;

    private Events(Exchange exchange) {
      super(exchange);
      this.exchange = exchange;
    }

    private OutputEvents events() throws IOException {
      if (events == null) {
        events = new OutputEvents(exchange);
      }
      return events;
    }

    @Override
    public void beat(Progress progress) throws IOException {
      events().beat();
    }

    @Override
    public void follow(TenantExec exec) throws IOException, InterruptedException {
      exec.box().awaitEndAsync(exec);
      exec.awaitStart();
      if (exec.ending().orElse(null) instanceof TenantExec.Ending.Refused) {
        return;
      }
      events().start(ExecAnswers.exec(exec));
      at = events().follow(exec, OutputEvents.Position.START);
    }

    @Override
    public void follow(TenantContext context, Cell cell, Duration timeout)
        throws IOException, InterruptedException {
      events().start(Map.of("context", context.id(), "number", cell.number()));
      at = events().follow(cell);
    }

    @Override
    boolean isWhole() {
      return false;
    }

    @Override
    OutputLoss unread() {
      return events == null ? OutputLoss.NONE : events.unread();
    }

    @Override
    void end(Map<String, Object> document) throws IOException {
      events().end(at, document);
    }
  }
}
