package dev.ebb.cli;

import dev.ebb.cli.box.CreateCommand;
import dev.ebb.cli.box.EachBoxCommand;
import dev.ebb.cli.box.InspectCommand;
import dev.ebb.cli.box.ListCommand;
import dev.ebb.cli.box.NetworkCommand;
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

  private Commands() {}

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

  static int run(String name, ParseResult parsed) throws InterruptedException, IOException {
    return switch (name) {
      case "run" -> new RunCommand(parsed).run();
      case "create" -> CreateCommand.run(parsed);
      case "exec" -> new ExecCommand(parsed).run();
      case "code" -> new CodeCommand(parsed).run();
      case "languages" -> CodeCommand.languages(parsed);
      case "context" -> new ContextCommand(parsed).run();
      case "ls" -> ListCommand.run(parsed);
      case "ps" -> ProcessesCommand.run(parsed);
      case "top" -> ProcessesCommand.top(parsed);
      case "logs" -> LogsCommand.run(parsed);
      case "wait" -> WaitCommand.run(parsed);
      case "kill" -> KillCommand.run(parsed);
      case "kill-all", "stop", "rm", "pause", "resume" -> EachBoxCommand.run(name, parsed);
      case "network" -> NetworkCommand.run(parsed);
      case "cp" -> CopyCommand.run(parsed);
      case "inspect" -> InspectCommand.run(parsed);
      case "stats" -> StatsCommand.run(parsed);
      case "events" -> EventsCommand.run(parsed);
      case "pressure" -> PressureCommand.run(parsed);
      case "why" -> WhyCommand.run(parsed);
      case "doctor" -> DoctorCommand.run(parsed);
      case "mcp" -> McpCommand.run();
      case "serve", "config", "key", "quota" -> ServerCommands.run(name);
      case "pool" -> PoolCommand.run(parsed);
      case "sweep" -> SweepCommand.run(parsed);
      case "torture" -> TortureCommand.run(parsed);
      case "soak" -> SoakCommand.run(parsed);
      case "purge" -> PurgeCommand.run(parsed);
      case "completion" -> CompletionCommand.run(parsed);
      case "version" -> Main.version(System.out);
      default -> throw new IllegalStateException(name);
    };
  }
}
