package dev.ebb.model;

/** What a command has around it. */
public sealed interface ExecKind {
  ExecKind COMMAND = new Command();

  /** Pipes for stdout and stderr. */
  record Command() implements ExecKind {}

  /** A command whose end comes with a list of what the workspace holds then. */
  record Program() implements ExecKind {}

  /** Nothing is executed: the command is a file operation of init/protocol.h. */
  record FileOperation() implements ExecKind {}

  /** Nothing is executed: the interpreter goes on that the init of a zygote's box is a copy of. */
  record Resumption() implements ExecKind {}

  /**
   * A command that takes one order after the other: its stdin is a socket, both ways, and what it
   * writes comes in segments.
   */
  record Dialogue() implements ExecKind {}

  /** A terminal of this size, whose output is stdout. */
  record Terminal(int rows, int columns) implements ExecKind {
    public static final int SIDE_MAX = 0xFFFF;

    public Terminal {
      if (!isSize(rows, columns)) {
        throw new IllegalArgumentException("a terminal cannot be " + rows + " by " + columns);
      }
    }

    public static boolean isSize(int rows, int columns) {
      return Math.min(rows, columns) >= 1 && Math.max(rows, columns) <= SIDE_MAX;
    }
  }
}
