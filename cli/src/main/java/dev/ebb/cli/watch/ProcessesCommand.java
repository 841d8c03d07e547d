package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Box;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.Holding;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb ps} and {@code ebb top}: the processes of a box, or its commands. */
public final class ProcessesCommand {
  private ProcessesCommand() {}

  public static CommandSpec spec() {
    return common(Options.command("ps", "List the processes of a box as a tree, or its commands."))
        .addOption(Options.flag("print only pids, or numbers of commands", "-q", "--quiet"))
        .addOption(Options.json());
  }

  public static CommandSpec topSpec() {
    return Screen.addTo(
        common(Options.command("top", "Watch the processes of a box, or its commands.")));
  }

  private static CommandSpec common(CommandSpec spec) {
    return spec.addOption(Options.flag("list running commands instead of processes", "--execs"))
        .addOption(Options.flag("list all commands instead, including ended ones", "-a", "--all"))
        .addPositional(Options.positional("BOX", "1", "id or name of the box"));
  }

  private static boolean wantsExecs(ParseResult parsed) {
    return parsed.hasMatchedOption("--execs") || parsed.hasMatchedOption("--all");
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    try (EbbClient client = DaemonConnection.open(caller)) {
      if (wantsExecs(parsed)) {
        show(caller, parsed, execs(client, parsed));
      } else {
        show(caller, parsed, tree(client, parsed));
      }
    }
    return 0;
  }

  private static void show(Caller caller, ParseResult parsed, ProcessTree tree) {
    if (parsed.hasMatchedOption("--json")) {
      var documents = tree.processes().stream().map(Holding::document).toList();
      caller.out().println(JsonObject.empty().with("processes", documents));
    } else if (parsed.hasMatchedOption("--quiet")) {
      tree.processes().forEach(process -> caller.out().println(process.subject()));
    } else {
      tree.table().print(caller.out());
    }
  }

  private static void show(Caller caller, ParseResult parsed, List<Exec> execs) {
    if (parsed.hasMatchedOption("--json")) {
      var documents = execs.stream().map(Exec::document).toList();
      caller.out().println(JsonObject.empty().with("execs", documents));
    } else if (parsed.hasMatchedOption("--quiet")) {
      execs.forEach(exec -> caller.out().println(exec.number()));
    } else {
      table(execs, Instant.now()).print(caller.out());
    }
  }

  public static int top(Caller caller, ParseResult parsed)
      throws IOException, InterruptedException {
    try (EbbClient client = DaemonConnection.open(caller)) {
      return new Screen(caller, parsed)
          .show(
              () ->
                  wantsExecs(parsed)
                      ? table(execs(client, parsed), Instant.now())
                      : tree(client, parsed).table());
    }
  }

  private static ProcessTree tree(EbbClient client, ParseResult parsed) throws IOException {
    Box box = client.boxes().inspect(name(parsed));
    return ProcessTree.of(box);
  }

  private static List<Exec> execs(EbbClient client, ParseResult parsed) throws IOException {
    boolean all = parsed.hasMatchedOption("--all");
    return client.execs(name(parsed)).list().stream()
        .filter(exec -> all || !exec.hasEnded())
        .toList();
  }

  private static String name(ParseResult parsed) {
    return Options.box(parsed, Options.words(parsed).getFirst());
  }

  static Table table(List<Exec> execs, Instant now) {
    var table = new Table("EXEC", "STATE", "CODE", "TIME", "PIDS", "STDOUT", "STDERR", "COMMAND");
    for (Exec exec : execs) {
      Duration soFar = Duration.between(exec.startedAt(), now);
      Duration duration = exec.duration();
      table.row(
          exec.number(),
          exec.hasEnded() ? Shown.orNothing(exec.status()) : exec.state(),
          Shown.orNothing(exec.exitCode()),
          Shown.duration(duration == null ? soFar : duration),
          exec.pids().size(),
          Shown.size(exec.stdoutBytes()),
          Shown.size(exec.stderrBytes()),
          Shown.command(exec.command()));
    }
    return table;
  }
}
