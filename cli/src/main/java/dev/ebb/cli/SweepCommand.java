package dev.ebb.cli;

import dev.ebb.client.EbbClient;
import dev.ebb.client.Sweep;
import dev.ebb.engine.Engine;
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
final class SweepCommand {
  private SweepCommand() {}

  static CommandSpec spec() {
    return Options.command(
            "sweep",
            "Release what runtimes that died left on this host, and what the daemon, if there is"
                + " one, does not know of.")
        .addOption(Options.flag("only tell what would be done", "--dry-run"))
        .addOption(Options.flag("print a list for programs", "--json"));
  }

  static int run(ParseResult parsed) throws IOException {
    List<Sweep.Finding> findings = findings(parsed.hasMatchedOption("--dry-run"));
    if (parsed.hasMatchedOption("--json")) {
      System.out.println(Json.findings(findings));
    } else {
      tell(findings);
    }
    return findings.stream().anyMatch(f -> f.fate().equals(STUCK)) ? Main.OWN_FAILURE : 0;
  }

  private static final String STUCK = new Recovery.Fate.Stuck("").word();

  private static List<Sweep.Finding> findings(boolean dryRun) throws IOException {
    Optional<EbbClient> daemon = DaemonConnection.find();
    if (daemon.isEmpty()) {
      return Engine.sweep(dryRun).stream().map(SweepCommand::finding).toList();
    }
    try (EbbClient client = daemon.get()) {
      var findings = new ArrayList<>(client.sweep(dryRun).findings());
      // The daemon looks after its own home, not after those beside it.
      Engine.sweepBeside(Engine.defaultHome(), dryRun).stream()
          .map(SweepCommand::finding)
          .forEach(findings::add);
      return findings;
    }
  }

  private static Sweep.Finding finding(Recovery.Finding finding) {
    return new Sweep.Finding(
        finding.instance(),
        finding.kind().word(),
        finding.subject(),
        finding.fate().word(),
        finding.fate().reason());
  }

  private static void tell(List<Sweep.Finding> findings) {
    if (findings.isEmpty()) {
      System.out.println("nothing left by dead runtimes");
    }
    for (Sweep.Finding finding : findings) {
      String fate = finding.reason().isEmpty() ? "" : ": " + finding.reason();
      System.out.printf(
          "%-13s %-12s %-9s %s%s%n",
          finding.fate(), finding.instance(), finding.kind(), finding.subject(), fate);
    }
  }
}
