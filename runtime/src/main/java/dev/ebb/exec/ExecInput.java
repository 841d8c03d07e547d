package dev.ebb.exec;

import java.util.Optional;

/**
 * The input of a command: its pipe, if this engine has it, and whether the caller ended it.
 * Thread-safe.
 */
public final class ExecInput {
  /** The state of the input, as far as the caller decides it. */
  enum State {
    /** There is none, or it is complete, or the caller ended it. */
    WHOLE,
    /** The caller may write more; the pipe ends with the engine. */
    OPEN,
    /** The engine that held the pipe ended before the caller ended the input. */
    CUT
  }

  private final Optional<Stdin> pipe;
  private final ExecJournal journal;
  private volatile State state;

  ExecInput(Optional<Stdin> pipe, State state, ExecJournal journal) {
    this.pipe = pipe;
    this.state = state;
    this.journal = journal;
  }

  Optional<Stdin> pipe() {
    return pipe;
  }

  /**
   * Returns whether the command saw the end of its input because an earlier engine ended, not
   * because the caller ended the input. The command may have taken partial input for all of it.
   */
  public boolean isCut() {
    return state == State.CUT;
  }

  /**
   * Ends the input. ORDER: recorded before the command sees the end, so a command that acts on a
   * whole input never counts as cut.
   */
  public void end() {
    if (state == State.OPEN) {
      state = State.WHOLE;
      journal.inputIs(State.WHOLE);
    }
    close();
  }

  /** Marks the pipe as that of an earlier engine, which ended before the command. */
  void adopt() {
    if (state == State.OPEN) {
      state = State.CUT;
      journal.inputIs(State.CUT);
    }
  }

  void close() {
    pipe.ifPresent(Stdin::close);
  }
}
