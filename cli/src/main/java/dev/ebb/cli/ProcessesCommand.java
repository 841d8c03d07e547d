package dev.ebb.cli;

import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb ps} and {@code ebb top}: the commands of a box, once or again and again. */
final class ProcessesCommand {
  private ProcessesCommand() {}

  static CommandSpec spec() {
    return common(Options.command("ps", "List the commands of a box."))
        .addOption(Options.flag("only numbers", "-q", "--quiet"))
        .addOption(Options.json());
  }

  static CommandSpec topSpec() {
    return Screen.addTo(common(Options.command("top", "Watch the commands of a box.")));
  }

  private static CommandSpec common(CommandSpec spec) {
    return spec.addOption(Options.flag("also those that ended", "-a", "--all"))
        .addPositional(Options.positional("BOX", "1", "its id or name"));
  }

  static int run(ParseResult parsed) throws IOException {
    List<Exec> execs;
    try (EbbClient client = DaemonConnection.open()) {
      execs = execs(client, parsed);
    }
    if (parsed.hasMatchedOption("--json")) {
      var documents = execs.stream().map(Exec::document).toList();
      System.out.println(JsonObject.empty().with("execs", documents));
    } else if (parsed.hasMatchedOption("--quiet")) {
      execs.forEach(exec -> System.out.println(exec.number()));
    } else {
      table(execs, Instant.now()).print(System.out);
    }
    return 0;
  }

  static int top(ParseResult parsed) throws IOException, InterruptedException {
    try (EbbClient client = DaemonConnection.open()) {
      return new Screen(parsed).show(() -> table(execs(client, parsed), Instant.now()));
    }
  }

  private static List<Exec> execs(EbbClient client, ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    boolean all = parsed.hasMatchedOption("--all");
    return client.execs(box).list().stream().filter(exec -> all || !exec.hasEnded()).toList();
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
