package dev.ebb.cli;

import picocli.AutoComplete;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb completion}: what a shell needs to complete commands and options. */
final class CompletionCommand {
  private CompletionCommand() {}

  static CommandSpec spec() {
    CommandSpec spec =
        Options.command("completion", "Print a script that lets a shell complete ebb's words.")
            .addPositional(Options.positional("SHELL", "1", "bash or zsh"));
    spec.usageMessage().footer("", "In ~/.bashrc or ~/.zshrc: source <(ebb completion bash)");
    return spec;
  }

  /** One script for both: in zsh it loads what understands it. */
  static int run(ParseResult parsed) {
    String shell = Options.words(parsed).getFirst();
    if (!shell.equals("bash") && !shell.equals("zsh")) {
      throw Options.bad(parsed, "bad shell \"" + shell + "\": choose bash or zsh");
    }
    System.out.print(AutoComplete.bash("ebb", Main.commandLine()));
    return 0;
  }
}
