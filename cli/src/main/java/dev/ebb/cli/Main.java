package dev.ebb.cli;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.caller.OwnProcess;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Entry point of the command line: finds the command, runs it, and turns failures into 125. */
public final class Main {
  private static final String HELP_HEADER =
      "Runs untrusted code in sandboxes and leaves nothing behind.";

  private Main() {}

  public static void main(String[] args) {
    OwnProcess process = OwnProcess.open();
    process.end(run(process, args));
  }

  public static int run(Caller caller, String... args) {
    CommandLine commands = commandLine(args);
    try {
      ParseResult parsed = commands.parseArgs(args);
      return dispatch(caller, commands, parsed);
    } catch (ParameterException e) {
      String command = e.getCommandLine().getCommandSpec().qualifiedName(" ");
      caller.err().println(command + ": " + e.getMessage());
      caller.err().println("Try '" + command + " --help'.");
      return ExitCode.OWN_FAILURE;
    } catch (SandboxException e) {
      caller.err().println("ebb: " + e.getMessage());
      return ExitCode.OWN_FAILURE;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      caller.err().println("ebb: interrupted");
      return ExitCode.OWN_FAILURE;
    }
  }

  /** Returns whether a daemon may run the command; all others need a process of their own. */
  public static boolean isForDaemon(String... args) {
    if (args.length > 0 && Commands.needsAProcess(args[0])) {
      return false;
    }
    try {
      ParseResult parsed = commandLine(args).parseArgs(args);
      return !parsed.hasSubcommand() || Commands.isForDaemon(parsed.subcommand());
    } catch (ParameterException e) {
      // To say so needs no process.
      return true;
    }
  }

  /** Describes only the command that is called, or all of them if that is not clear. */
  static CommandLine commandLine(String... args) {
    CommandSpec root = CommandSpec.create().name("ebb");
    root.usageMessage().description(HELP_HEADER).synopsisSubcommandLabel("COMMAND");
    root.addOption(Options.help());
    boolean clear = args.length > 0 && !args[0].equals("help") && Commands.NAMES.contains(args[0]);
    for (String name : clear ? List.of(args[0]) : Commands.NAMES) {
      root.addSubcommand(name, Commands.spec(name));
    }
    return new CommandLine(root);
  }

  private static int dispatch(Caller caller, CommandLine commands, ParseResult parsed)
      throws InterruptedException {
    if (!parsed.hasSubcommand()) {
      return overview(caller, commands, parsed.hasMatchedOption("--help"));
    }
    ParseResult command = parsed.subcommand();
    if (command.hasMatchedOption("--help")) {
      command.commandSpec().commandLine().usage(caller.ownOut());
      return 0;
    }
    String name = command.commandSpec().name();
    if (name.equals("help")) {
      return help(caller, commands, String.join(" ", Options.words(command)));
    }
    try {
      return Commands.run(caller, name, command);
    } catch (IOException e) {
      return DaemonFailure.print(caller, e, command.hasMatchedOption("--json"));
    }
  }

  private static int overview(Caller caller, CommandLine commands, boolean isAsked) {
    commands.usage(isAsked ? caller.ownOut() : caller.ownErr());
    return isAsked ? 0 : ExitCode.OWN_FAILURE;
  }

  private static int help(Caller caller, CommandLine commands, String about) {
    if (about.isEmpty()) {
      commands.usage(caller.ownOut());
      return 0;
    }
    CommandLine command = commands.getSubcommands().get(about);
    if (command == null) {
      List<String> known = commands.getSubcommands().keySet().stream().sorted().toList();
      throw new ParameterException(
          commands, "unknown command '" + about + "'; known: " + String.join(", ", known));
    }
    command.usage(caller.ownOut());
    return 0;
  }

  static int version(PrintStream out) {
    Optional<String> version = Main.class.getModule().getDescriptor().rawVersion();
    out.println("ebb " + version.orElse("unknown") + " (java " + Runtime.version() + ")");
    return 0;
  }
}
