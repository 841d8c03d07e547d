package dev.ebb.cli;

import dev.ebb.cli.box.CreateCommand;
import dev.ebb.cli.box.EachBoxCommand;
import dev.ebb.cli.box.InspectCommand;
import dev.ebb.cli.box.ListCommand;
import dev.ebb.cli.box.NetworkCommand;
import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.code.CodeCommand;
import dev.ebb.cli.code.ContextCommand;
import dev.ebb.cli.exec.ExecCommand;
import dev.ebb.cli.exec.KillCommand;
import dev.ebb.cli.exec.LogsCommand;
import dev.ebb.cli.exec.RunCommand;
import dev.ebb.cli.exec.WaitCommand;
import dev.ebb.cli.files.CopyCommand;
import dev.ebb.cli.mcp.McpCommand;
import dev.ebb.cli.operate.DoctorCommand;
import dev.ebb.cli.operate.PurgeCommand;
import dev.ebb.cli.operate.SoakCommand;
import dev.ebb.cli.operate.SweepCommand;
import dev.ebb.cli.operate.TortureCommand;
import dev.ebb.cli.operate.WhyCommand;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.watch.EventsCommand;
import dev.ebb.cli.watch.PoolCommand;
import dev.ebb.cli.watch.PressureCommand;
import dev.ebb.cli.watch.ProcessesCommand;
import dev.ebb.cli.watch.StatsCommand;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/**
 * The commands by name. Two switches and no table of functions, so that the JVM loads only the
 * command that runs.
 */
final class Commands {
  /** All commands, in the order of the help. */
  static final List<String> NAMES =
      List.of(
          "run",
          "create",
          "exec",
          "ls",
          "ps",
          "code",
          "languages",
          "context",
          "logs",
          "wait",
          "kill",
          "kill-all",
          "stop",
          "rm",
          "pause",
          "resume",
          "network",
          "cp",
          "inspect",
          "stats",
          "top",
          "events",
          "pressure",
          "why",
          "mcp",
          "serve",
          "config",
          "key",
          "quota",
          "doctor",
          "pool",
          "sweep",
          "torture",
          "soak",
          "purge",
          "completion",
          "version",
          "help");

  /**
   * Commands that need a process of their own: they read or write files of the caller, whom a
   * daemon may not resemble in its mounts, groups and umask; they end or examine the daemon; or
   * they are the server's.
   */
  private static final Set<String> IN_A_PROCESS =
      Set.of(
          "cp", "mcp", "serve", "config", "key", "quota", "doctor", "why", "sweep", "torture",
          "soak", "purge");

  /** Options that name files of the caller. */
  private static final List<String> OF_FILES = List.of("--file", "--to", "--out");

  /** Options of {@code run} that mean more to an engine of its own than to a daemon. */
  private static final List<String> OF_AN_ENGINE =
      List.of("--tmp", "--mount", "--packages", "--net", "--backend", "--verbose");

  private Commands() {}

  /** Returns whether no daemon may run it, whatever its arguments are. */
  static boolean needsAProcess(String name) {
    return IN_A_PROCESS.contains(name);
  }

  /** Returns whether a daemon may run it, in place of a process of its own. */
  static boolean isForDaemon(ParseResult parsed) {
    String name = parsed.commandSpec().name();
    if (name.equals("help")) {
      return Options.words(parsed).stream().noneMatch(IN_A_PROCESS::contains);
    }
    boolean isAttachedRun =
        name.equals("run") && !parsed.hasMatchedOption("-d") && !parsed.hasMatchedOption("-t");
    boolean isCodeOfAFile =
        List.of("code", "context").contains(name) && parsed.hasMatchedOption("-f");
    // Its connection for keys would outlive a command whose window was resized.
    boolean hasTerminal = parsed.hasMatchedOption("--tty");
    return !needsAProcess(name)
        && !hasTerminal
        && !isCodeOfAFile
        && OF_FILES.stream().noneMatch(parsed::hasMatchedOption)
        && !(isAttachedRun && OF_AN_ENGINE.stream().anyMatch(parsed::hasMatchedOption));
  }

  static CommandSpec spec(String name) {
    return switch (name) {
      case "run" -> RunCommand.spec();
      case "create" -> CreateCommand.spec();
      case "exec" -> ExecCommand.spec();
      case "code" -> CodeCommand.spec();
      case "languages" -> CodeCommand.languagesSpec();
      case "context" -> ContextCommand.spec();
      case "ls" -> ListCommand.spec();
      case "ps" -> ProcessesCommand.spec();
      case "top" -> ProcessesCommand.topSpec();
      case "logs" -> LogsCommand.spec();
      case "wait" -> WaitCommand.spec();
      case "kill" -> KillCommand.spec();
      case "kill-all", "stop", "rm", "pause", "resume" -> EachBoxCommand.spec(name);
      case "network" -> NetworkCommand.spec();
      case "cp" -> CopyCommand.spec();
      case "inspect" -> InspectCommand.spec();
      case "stats" -> StatsCommand.spec();
      case "events" -> EventsCommand.spec();
      case "pressure" -> PressureCommand.spec();
      case "why" -> WhyCommand.spec();
      case "doctor" -> DoctorCommand.spec();
      case "mcp" -> McpCommand.spec();
      case "serve", "config", "key", "quota" -> ServerCommands.spec(name);
      case "pool" -> PoolCommand.spec();
      case "sweep" -> SweepCommand.spec();
      case "torture" -> TortureCommand.spec();
      case "soak" -> SoakCommand.spec();
      case "purge" -> PurgeCommand.spec();
      case "completion" -> CompletionCommand.spec();
      case "version" -> Options.command("version", "Print the version of Ebb and of Java.");
      case "help" ->
          Options.command("help", "Explain a command.")
              .addPositional(
                  Options.positional(
                      "COMMAND", "0..1", "the command to explain (default: list all commands)"));
      default -> throw new IllegalStateException(name);
    };
  }

  static int run(Caller caller, String name, ParseResult parsed)
      throws InterruptedException, IOException {
    return switch (name) {
      case "run" -> new RunCommand(caller, parsed).run();
      case "create" -> CreateCommand.run(caller, parsed);
      case "exec" -> new ExecCommand(caller, parsed).run();
      case "code" -> new CodeCommand(caller, parsed).run();
      case "languages" -> CodeCommand.languages(caller, parsed);
      case "context" -> new ContextCommand(caller, parsed).run();
      case "ls" -> ListCommand.run(caller, parsed);
      case "ps" -> ProcessesCommand.run(caller, parsed);
      case "top" -> ProcessesCommand.top(caller, parsed);
      case "logs" -> LogsCommand.run(caller, parsed);
      case "wait" -> WaitCommand.run(caller, parsed);
      case "kill" -> KillCommand.run(caller, parsed);
      case "kill-all", "stop", "rm", "pause", "resume" -> EachBoxCommand.run(caller, name, parsed);
      case "network" -> NetworkCommand.run(caller, parsed);
      case "cp" -> CopyCommand.run(caller, parsed);
      case "inspect" -> InspectCommand.run(caller, parsed);
      case "stats" -> StatsCommand.run(caller, parsed);
      case "events" -> EventsCommand.run(caller, parsed);
      case "pressure" -> PressureCommand.run(caller, parsed);
      case "why" -> WhyCommand.run(caller, parsed);
      case "doctor" -> DoctorCommand.run(caller, parsed);
      case "mcp" -> McpCommand.run(caller);
      case "serve", "config", "key", "quota" -> ServerCommands.run(caller, name);
      case "pool" -> PoolCommand.run(caller, parsed);
      case "sweep" -> SweepCommand.run(caller, parsed);
      case "torture" -> TortureCommand.run(caller, parsed);
      case "soak" -> SoakCommand.run(caller, parsed);
      case "purge" -> PurgeCommand.run(caller, parsed);
      case "completion" -> CompletionCommand.run(caller, parsed);
      case "version" -> Main.version(caller.out());
      default -> throw new IllegalStateException(name);
    };
  }
}
