package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Documents;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.engine.Doctor;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb doctor}: what works here, what is degraded, what to do. */
public final class DoctorCommand {
  private DoctorCommand() {}

  public static CommandSpec spec() {
    return Options.command(
            "doctor",
            "Run a real box and report what works here, what is degraded, and how to fix it.")
        .addOption(Options.flag("print a JSON array", "--json"));
  }

  public static int run(Caller caller, ParseResult parsed) throws InterruptedException {
    List<Doctor.Check> checks = Doctor.examine();
    boolean forPrograms = parsed.hasMatchedOption("--json");
    caller.out().print(forPrograms ? Documents.checks(checks) + "\n" : text(checks));
    return code(checks);
  }

  static String text(List<Doctor.Check> checks) {
    var text = new StringBuilder();
    for (Doctor.Check check : checks) {
      text.append(
          "%-8s  %-12s  %s\n".formatted(check.verdict().wireName(), check.name(), check.finding()));
      if (!check.remedy().isEmpty()) {
        text.append("%-8s  %-12s  -> %s\n".formatted("", "", check.remedy()));
      }
    }
    return text.toString();
  }

  /** Only the last check decides: it ran a box. */
  static int code(List<Doctor.Check> checks) {
    return checks.getLast().verdict() == Doctor.Verdict.OK ? 0 : ExitCode.OWN_FAILURE;
  }
}
