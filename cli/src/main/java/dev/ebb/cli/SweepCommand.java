package dev.ebb.cli;

import dev.ebb.engine.Engine;
import dev.ebb.supervision.Recovery;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb sweep}: release what dead runtimes left. */
final class SweepCommand {
  private SweepCommand() {}

  static CommandSpec spec() {
    return Options.command("sweep", "Release what runtimes that died left on this host.")
        .addOption(Options.flag("only tell what would be done", "--dry-run"))
        .addOption(Options.flag("print a list for programs", "--json"));
  }

  static int run(ParseResult parsed) {
    List<Recovery.Finding> findings = Engine.sweep(parsed.hasMatchedOption("--dry-run"));
    if (parsed.hasMatchedOption("--json")) {
      System.out.println(Json.findings(findings));
    } else {
      tell(findings);
    }
    boolean stuck = findings.stream().anyMatch(f -> f.fate() instanceof Recovery.Fate.Stuck);
    return stuck ? Main.OWN_FAILURE : 0;
  }

  private static void tell(List<Recovery.Finding> findings) {
    if (findings.isEmpty()) {
      System.out.println("nothing left by dead runtimes");
    }
    for (Recovery.Finding finding : findings) {
      System.out.printf(
          "%-10s %-9s %-9s %s%n",
          word(finding.fate()), finding.instance(), finding.kind().word(), finding.subject());
    }
  }

  static String word(Recovery.Fate fate) {
    return switch (fate) {
      case Recovery.Fate.Absent _ -> "gone";
      case Recovery.Fate.Released _ -> "released";
      case Recovery.Fate.Planned _ -> "would release";
      case Recovery.Fate.Kept _ -> "kept for the next daemon";
      case Recovery.Fate.Stuck(var reason) -> "stuck: " + reason;
    };
  }
}
