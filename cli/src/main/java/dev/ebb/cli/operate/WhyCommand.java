package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Documents;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.EbbClient;
import dev.ebb.client.NotFoundException;
import dev.ebb.engine.HomeTools;
import dev.ebb.supervision.Why;
import java.io.IOException;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb why}: what keeps a box, or a process of one, alive. */
public final class WhyCommand {
  private WhyCommand() {}

  public static CommandSpec spec() {
    CommandSpec spec =
        Options.command("why", "Explain why a box or a process still exists.")
            .addOption(Options.flag("print a JSON object", "--json"));
    return spec.addPositional(
        Options.positional("BOX|PID", "1", "a box, or the host pid of a process in a box"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    String subject = Options.box(parsed, Options.words(parsed).getFirst());
    boolean json = parsed.hasMatchedOption("--json");
    return askDaemon(caller, subject, json) ? 0 : askHome(caller, subject, json);
  }

  /** False when there is no daemon, or none that knows it: it may be an embedded engine's. */
  private static boolean askDaemon(Caller caller, String subject, boolean json) throws IOException {
    Optional<EbbClient> daemon = DaemonConnection.find(caller);
    if (daemon.isEmpty()) {
      return false;
    }
    try (EbbClient client = daemon.get()) {
      var answer = client.why(subject);
      caller.out().println(json ? answer.document() : answer.subject() + ": " + answer.reason());
      return true;
    } catch (NotFoundException e) {
      return false;
    }
  }

  private static int askHome(Caller caller, String subject, boolean json) {
    var answer = HomeTools.why(subject);
    if (answer.isEmpty()) {
      caller.err().println("ebb why: no box or process of a box: " + subject);
      return ExitCode.OWN_FAILURE;
    }
    if (json) {
      caller.out().println(Documents.why(answer.get()));
    } else {
      print(caller, answer.get());
    }
    return 0;
  }

  private static void print(Caller caller, Why.Answer answer) {
    caller.out().printf("box %s of %s: %s%n", answer.box(), answer.instance(), answer.reason());
    for (var holding : answer.holdings()) {
      caller.out().printf("  held     %-9s %s%n", holding.kind().wireName(), holding.subject());
    }
    for (var process : answer.processes()) {
      caller.out().printf("  process  %-9d %s%n", process.pid(), process.describe());
    }
  }
}
