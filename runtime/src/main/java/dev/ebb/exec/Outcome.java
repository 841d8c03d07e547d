package dev.ebb.exec;

import dev.ebb.init.ExecEvents;
import dev.ebb.model.OutputLoss;

/** The last report of init about a command. */
sealed interface Outcome {
  /** The command was never started. */
  record Refused(ExecEvents.Step step, int errno) implements Outcome {}

  /**
   * The command has ended.
   *
   * @param oomKills the count of the box at that moment
   */
  record Ended(ExecEvents.Ended ended, long oomKills) implements Outcome {}

  /** Init ended without a report. */
  record Lost() implements Outcome {}

  /** Init lives, but does not know the command. */
  record Unknown() implements Outcome {}

  default boolean isTruncated() {
    return this instanceof Ended(var ended, _) && ended.truncated();
  }

  default OutputLoss loss() {
    return this instanceof Ended(var ended, _) ? ended.loss() : OutputLoss.NONE;
  }
}
