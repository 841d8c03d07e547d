package dev.ebb.engine;

import dev.ebb.box.Box;
import dev.ebb.box.OwnBox;
import dev.ebb.code.Cell;
import dev.ebb.code.Context;
import dev.ebb.code.Runner;
import dev.ebb.exec.Exec;
import dev.ebb.exec.Segment;
import dev.ebb.model.CellOrder;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * A stateful interpreter in a box of its own, for a program that embeds the engine. Its owner
 * closes it, which releases the box. Thread-safe: code runs in the order of the calls.
 */
public final class CodeContext implements AutoCloseable {
  /** How long one wait for the end of a cell lasts. */
  private static final Duration LOOK = Duration.ofMinutes(1);

  private final OwnBox<Box> own;
  private final Exec interpreter;
  private final Context context;

  private CodeContext(OwnBox<Box> own, Exec interpreter, Context context) {
    this.own = own;
    this.interpreter = interpreter;
    this.context = context;
  }

  static CodeContext open(OwnBox<Box> own, Runner runner) {
    var spec = ExecSpec.of(runner.command()).withTimeout(Duration.ZERO).withDialogue();
    Exec interpreter = Exec.start(own.box(), spec);
    var opened = new CodeContext(own, interpreter, Context.of(interpreter, runner));
    Thread.ofVirtual().name("ebb-context-" + own.box().id()).start(opened::awaitEnd);
    return opened;
  }

  /** Waits for the command, so that everything it holds is released at its end. */
  private void awaitEnd() {
    try {
      var _ = interpreter.await();
    } catch (SandboxException e) {
      // It could not begin, which its cells report.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public Box box() {
    return own.box();
  }

  public Context.State state() {
    return context.state();
  }

  /** Runs code with the default timeout, and waits for its end. */
  public CellAnswer run(String code) throws InterruptedException {
    return run(new CellOrder(code, Map.of(), ExecSpec.DEFAULT_TIMEOUT, ExecSpec.DEFAULT_GRACE));
  }

  /** Runs code after all earlier submissions, and waits for its end. */
  public CellAnswer run(CellOrder order) throws InterruptedException {
    try (Cell cell = context.submit(order)) {
      try {
        return answer(cell, await(cell));
      } catch (InterruptedException e) {
        context.cancel(cell);
        throw e;
      }
    }
  }

  private static Cell.Result await(Cell cell) throws InterruptedException {
    Optional<Cell.Result> result = cell.await(LOOK);
    while (result.isEmpty()) {
      result = cell.await(LOOK);
    }
    return result.get();
  }

  private static CellAnswer answer(Cell cell, Cell.Result result) {
    return new CellAnswer(
        result,
        cell.segment().map(Segment::stdout).map(CapturedOutput::of).orElse(CapturedOutput.NONE),
        cell.segment().map(Segment::stderr).map(CapturedOutput::of).orElse(CapturedOutput.NONE),
        cell.shown(0),
        cell.thrown());
  }

  /** Interrupts the running code, and keeps the state; returns false if none runs. */
  public boolean interrupt() {
    return context.interrupt();
  }

  /** Ends the interpreter, and releases its box. */
  public Certificate end() {
    try {
      return own.remove();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SandboxException(ErrorCode.INTERRUPTED, "interrupted while releasing a box", e);
    }
  }

  @Override
  public void close() {
    end();
  }
}
