package dev.ebb.exec;

import java.util.Optional;

/**
 * What a command reads: the pipe to it, if this engine has it, and whether its caller ended it.
 * Thread-safe.
 */
public final class ExecInput {
  /** How far the input of a command has come, as far as its caller decides. */
  enum State {
    /** It has none, or all of it, or its caller ended it. */
    WHOLE,
    /** Its caller may write more; the pipe ends with the engine. */
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
   * True when the command saw the end of its input because an earlier engine ended, and not because
   * its caller ended the input. The command may have taken what came for all of it.
   */
  public boolean isCut() {
    return state == State.CUT;
  }

  /**
   * The caller has written all. ORDER: recorded before the command sees the end, so a command that
   * acts on a whole input never counts as cut.
   */
  public void end() {
    if (state == State.OPEN) {
      state = State.WHOLE;
      journal.inputIs(State.WHOLE);
    }
    close();
  }

  /** An engine before this one held the pipe of this command, which had not ended. */
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
