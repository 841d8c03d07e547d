package dev.ebb.client;

import java.util.Map;

/** Something a cell did while it was followed. */
public sealed interface CellEvent {
  /** It was ordered; the first event. */
  record Ordered(long number) implements CellEvent {}

  record Wrote(OutputStreamName stream, Output output) implements CellEvent {}

  /**
   * It showed something.
   *
   * @param isResult it is the value of the last expression
   * @param forms by their types
   */
  record Showed(boolean isResult, Map<String, Output> forms) implements CellEvent {}

  /** It ended; the last event. Its result has no output, which was told before. */
  record Ended(CellResult result) implements CellEvent {}
}
