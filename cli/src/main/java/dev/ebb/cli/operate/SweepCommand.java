package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Documents;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Sweep;
import dev.ebb.engine.HomeTools;
import dev.ebb.supervision.Recovery;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/**
 * {@code ebb sweep}: release what should not be on this host. A daemon compares what it has, too.
 */
public final class SweepCommand {
  private SweepCommand() {}

  public static CommandSpec spec() {
    return Options.command(
            "sweep",
            "Release what dead runtimes left on this host, and what a running daemon does not"
                + " own.")
        .addOption(Options.flag("only report what would be done", "--dry-run"))
        .addOption(Options.flag("print a JSON array", "--json"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    List<Sweep.Finding> findings = findings(caller, parsed.hasMatchedOption("--dry-run"));
    if (parsed.hasMatchedOption("--json")) {
      caller.out().println(Documents.findings(findings));
    } else {
      print(caller, findings);
    }
    return findings.stream().anyMatch(f -> f.fate().equals(STUCK)) ? ExitCode.OWN_FAILURE : 0;
  }

  private static final String STUCK = new Recovery.Fate.Stuck("").wireName();

  private static List<Sweep.Finding> findings(Caller caller, boolean dryRun) throws IOException {
    Optional<EbbClient> daemon = DaemonConnection.find(caller);
    if (daemon.isEmpty()) {
      return HomeTools.sweep(caller.home(), dryRun).stream().map(SweepCommand::finding).toList();
    }
    try (EbbClient client = daemon.get()) {
      var findings = new ArrayList<>(client.sweep(dryRun).findings());
      // The daemon looks after its own home, not after those beside it.
      HomeTools.sweepBeside(caller.home(), dryRun).stream()
          .map(SweepCommand::finding)
          .forEach(findings::add);
      return findings;
    }
  }

  private static Sweep.Finding finding(Recovery.Finding finding) {
    return new Sweep.Finding(
        finding.instance(),
        finding.kind().wireName(),
        finding.subject(),
        finding.fate().wireName(),
        finding.fate().reason());
  }

  private static void print(Caller caller, List<Sweep.Finding> findings) {
    if (findings.isEmpty()) {
      caller.out().println("nothing left by dead runtimes");
    }
    for (Sweep.Finding finding : findings) {
      String fate = finding.reason().isEmpty() ? "" : ": " + finding.reason();
      caller
          .out()
          .printf(
              "%-13s %-12s %-9s %s%s%n",
              finding.fate(), finding.instance(), finding.kind(), finding.subject(), fate);
    }
  }
}
