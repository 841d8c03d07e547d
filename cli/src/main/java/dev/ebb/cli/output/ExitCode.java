package dev.ebb.cli.output;

/** The exit codes of the command that are not those of a command in a box. */
public final class ExitCode {
  /** Docker's code for "the tool itself failed", as opposed to the command in the box. */
  public static final int OWN_FAILURE = 125;

  /** The code of timeout(1). */
  public static final int TIMED_OUT = 124;

  /** A shell's code for a signal: this plus the number of the signal. */
  public static final int SIGNALLED = 128;

  /** A shell's code for SIGINT. */
  public static final int INTERRUPTED = 130;

  /** A shell's code for SIGPIPE: the reader of the output has gone. */
  public static final int READER_GONE = 141;

  private ExitCode() {}
}
