package dev.ebb.model;

/** How a command is run and connected. */
public sealed interface ExecKind {
  ExecKind COMMAND = new Command();

  /** Pipes for stdout and stderr. */
  record Command() implements ExecKind {}

  /** A command that ends with a list of what the workspace holds then. */
  record Program() implements ExecKind {}

  /** A file operation of init/protocol.h; nothing is executed. */
  record FileOperation() implements ExecKind {}

  /** Resumes the interpreter that the init of a zygote's box is a copy of; nothing is executed. */
  record Resumption() implements ExecKind {}

  /**
   * A command that takes one order after the other: its stdin is a socket, both ways, and its
   * output comes in segments.
   */
  record Dialogue() implements ExecKind {}

  /** A command with a terminal of this size; its output is stdout. */
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
