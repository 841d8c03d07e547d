package dev.ebb.code;

import dev.ebb.exec.Segment;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Signal;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExitCause;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * One cell in its interpreter: sends it, waits for its end, interrupts it on request or when it
 * takes too long, and kills the interpreter if that does not help. For one thread.
 */
final class RunningCell {
  private static final Duration FOREVER = Duration.ofDays(36_500);
  private static final Duration START_PATIENCE = Duration.ofSeconds(60);

  /** How long init may take to end a segment. */
  private static final Duration SPLIT_PATIENCE = Duration.ofSeconds(30);

  /** A cell that has run for this long receives every interrupt. */
  private static final Duration SETTLED = Duration.ofMillis(300);

  /** RACE: an interpreter that begins with a cell may not receive the first interrupt. */
  private static final int ASKED_MOST = 2;

  private final RunnerSession session;
  private final Cell cell;

  /** The segment that the cell writes to; after a split, the exec has another. */
  private final Segment segment;

  private boolean isTimedOut;

  RunningCell(RunnerSession session, Cell cell) {
    this.session = session;
    this.cell = cell;
    segment = session.exec().segment();
  }

  Cell.Result run() throws InterruptedException {
    cell.run(segment);
    segment.wake();
    if (!await(() -> session.isReady() || session.isOver(), Deadline.in(START_PATIENCE))) {
      session.breakUp("nothing: the interpreter did not begin");
    }
    long begun = ProcessClock.nanos();
    session.send(cell);
    awaitEnd();
    if (cell.done != null && !session.isBroken()) {
      session.exec().split();
      if (!await(segment::isOver, Deadline.in(SPLIT_PATIENCE))) {
        // Output that init has not reported by now is missing.
        cell.cut();
      }
    }
    Optional<ExitCause> cause = isCutShort() ? session.end() : Optional.empty();
    return new Cell.Result(outcome(), status(), cause, session.broken(), ProcessClock.since(begun));
  }

  private boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
    return session.await(segment, condition, deadline);
  }

  private boolean isCutShort() {
    return cell.done == null || session.isOver();
  }

  private boolean isOver() {
    return cell.done != null || session.isOver();
  }

  /** Waits for the end of the cell, or of the interpreter. */
  private void awaitEnd() throws InterruptedException {
    CellOrder order = cell.order();
    Deadline deadline = Deadline.in(order.timeout().isZero() ? FOREVER : order.timeout());
    int asked = 0;
    int interrupts = 0;
    while (!isOver()) {
      int sent = interrupts;
      boolean isHurried = asked > 0;
      boolean isNews =
          await(() -> isOver() || isAskedAfter(sent) || (cell.cancelled && !isHurried), deadline);
      if (isAskedAfter(sent)) {
        interrupts = cell.interrupts.get();
        interrupt();
      } else if (asked == ASKED_MOST && !isNews) {
        session.exec().kill(Duration.ZERO);
        break;
      } else if (!isNews || (!isHurried && cell.cancelled)) {
        isTimedOut |= !isHurried && !isNews;
        Duration soon = order.grace().dividedBy(4);
        deadline = Deadline.in(isHurried ? order.grace().minus(soon) : soon);
        asked++;
        cell.interrupts.incrementAndGet();
      }
    }
  }

  private boolean isAskedAfter(int sent) {
    return cell.begun && cell.interrupts.get() > sent;
  }

  /** RACE: node ends of a signal that comes right when a cell begins or first waits. */
  private void interrupt() throws InterruptedException {
    var left = Deadline.in(cell.untilAfterBegin(SETTLED));
    if (!await(this::isOver, left)) {
      session.exec().signal(Signal.INT);
    }
  }

  private Cell.Outcome outcome() {
    if (isTimedOut) {
      return Cell.Outcome.TIMED_OUT;
    }
    if (session.isBroken()) {
      return Cell.Outcome.BROKEN;
    }
    String word = cell.done;
    if (word == null) {
      return Cell.Outcome.DIED;
    }
    return switch (word) {
      case "ok", "0" -> cell.loss().isAny() ? Cell.Outcome.OUTPUT_LOST : Cell.Outcome.OK;
      case "error" -> Cell.Outcome.ERROR;
      case "interrupted" -> Cell.Outcome.INTERRUPTED;
      default -> Cell.Outcome.FAILED;
    };
  }

  private int status() {
    String word = cell.done;
    return word != null && Character.isDigit(word.charAt(0)) ? Integer.parseInt(word) : 0;
  }
}
