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
    boolean forPrograms = parsed.hasMatchedOption("--json");
    System.out.print(forPrograms ? Json.checks(checks) + "\n" : text(checks));
    return code(checks);
  }

  static String text(List<Doctor.Check> checks) {
    var text = new StringBuilder();
    for (Doctor.Check check : checks) {
      text.append(
          "%-8s  %-12s  %s\n".formatted(check.verdict().word(), check.name(), check.finding()));
      if (!check.remedy().isEmpty()) {
        text.append("%-8s  %-12s  -> %s\n".formatted("", "", check.remedy()));
      }
    }
    return text.toString();
  }

  /** The last one ran a box: whatever else is wrong, that is what counts. */
  static int code(List<Doctor.Check> checks) {
    return checks.getLast().verdict() == Doctor.Verdict.OK ? 0 : Main.OWN_FAILURE;
  }
}
