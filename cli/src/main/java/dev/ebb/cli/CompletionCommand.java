package dev.ebb.cli;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import picocli.AutoComplete;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb completion}: what a shell needs to complete commands and options. */
final class CompletionCommand {
  private CompletionCommand() {}

  static CommandSpec spec() {
    CommandSpec spec =
        Options.command("completion", "Print a completion script for a shell.")
            .addPositional(Options.positional("SHELL", "1", "bash or zsh"));
    spec.usageMessage().footer("", "In ~/.bashrc or ~/.zshrc: source <(ebb completion bash)");
    return spec;
  }

  /** Prints one script for both shells: in zsh it loads the emulation of bash completion. */
  static int run(Caller caller, ParseResult parsed) {
    String shell = Options.words(parsed).getFirst();
    if (!shell.equals("bash") && !shell.equals("zsh")) {
      throw Options.bad(parsed, "bad shell \"" + shell + "\": choose bash or zsh");
    }
    caller.out().print(AutoComplete.bash("ebb", Main.commandLine()));
    return 0;
  }
}
