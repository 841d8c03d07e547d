package dev.ebb.cli;

import dev.ebb.engine.Doctor;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb doctor}: what works here, what is degraded, what to do. */
final class DoctorCommand {
  private DoctorCommand() {}

  static CommandSpec spec() {
    return Options.command(
            "doctor", "Run a real box and tell what works here, what is degraded, what to do.")
        .addOption(Options.flag("print a list for programs", "--json"));
  }

  static int run(ParseResult parsed) throws InterruptedException {
    List<Doctor.Check> checks = Doctor.examine();
    if (parsed.hasMatchedOption("--json")) {
      System.out.println(Json.checks(checks));
    } else {
      for (Doctor.Check check : checks) {
        System.out.printf(
            "%-8s  %-12s  %s%n", check.verdict().word(), check.name(), check.finding());
        if (!check.remedy().isEmpty()) {
          System.out.printf("%-8s  %-12s  -> %s%n", "", "", check.remedy());
        }
      }
    }
    // The last one ran a box: whatever else is wrong, that is what counts.
    boolean fit = checks.getLast().verdict() == Doctor.Verdict.OK;
    return fit ? 0 : Main.OWN_FAILURE;
  }
}
