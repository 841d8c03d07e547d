package dev.ebb.cli;

import java.util.List;

/** The commands whose classes go into the start-up cache; {@code dist/train} runs them. */
final class Training {
  private static final List<List<String>> COMMANDS =
      List.of(List.of("version"), List.of("help"), List.of("run", "--", "true"));

  private Training() {}

  public static void main(String[] args) {
    COMMANDS.forEach(command -> Main.run(command.toArray(String[]::new)));
  }
}
