package dev.ebb.client;

import java.util.Map;

/** An event of a cell that is followed. */
public sealed interface CellEvent {
  /** The cell is queued; the first event. */
  record Ordered(long number) implements CellEvent {}

  record Wrote(OutputStreamName stream, Output output) implements CellEvent {}

  /**
   * The cell showed a value.
   *
   * @param isResult whether it is the value of the last expression
   * @param forms by their types
   */
  record Showed(boolean isResult, Map<String, Output> forms) implements CellEvent {}

  /** The cell ended; the last event. Its result has no output, which earlier events carried. */
  record Ended(CellResult result) implements CellEvent {}
}
