package dev.ebb.mcp;

/** The instructions that a model reads before the list of tools. */
final class Instructions {
  static final String TEXT =
      """
      Ebb runs code and commands in sandboxes ("boxes"). You have a box of your own: it is made when \
      you first use it, keeps its files and processes between calls, and is destroyed with this \
      session, so save nothing there that is needed later. The working directory is /workspace; \
      relative paths start there. A box is Linux, without root and without a network unless the \
      server says otherwise; memory, processes, disk and time are limited. Use execute_code for \
      programs, run_command for shell commands, start_process for what should go on running, \
      read_file and write_file for files. Other boxes are needed only for work that must be kept \
      apart: create_box, and pass its id as "box".""";

  private Instructions() {}
}
