package dev.ebb.cli;

import dev.ebb.engine.Engine;
import dev.ebb.supervision.Why;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb why}: what keeps a box, or a process of one, alive. */
final class WhyCommand {
  private WhyCommand() {}

  static CommandSpec spec() {
    CommandSpec spec =
        Options.command("why", "Explain why a box, or a process, is still there.")
            .addOption(Options.flag("print an object for programs", "--json"));
    return spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("BOX|PID")
            .type(String.class)
            .arity("1")
            .description("the id of a box, or the host pid of a process in one")
            .build());
  }

  static int run(ParseResult parsed) {
    String subject = parsed.matchedPositionalValue(0, "");
    var answer = Engine.why(subject);
    if (answer.isEmpty()) {
      System.err.println("ebb why: nothing here is, or belongs to, a box " + subject);
      return Main.OWN_FAILURE;
    }
    if (parsed.hasMatchedOption("--json")) {
      System.out.println(Json.why(answer.get()));
    } else {
      tell(answer.get());
    }
    return 0;
  }

  private static void tell(Why.Answer answer) {
    System.out.printf("box %s of %s: %s%n", answer.box(), answer.instance(), answer.reason());
    for (var holding : answer.holdings()) {
      System.out.printf("  held     %-9s %s%n", holding.kind().word(), holding.subject());
    }
    for (var process : answer.processes()) {
      System.out.printf("  process  %-9d %s%n", process.pid(), process.describe());
    }
  }
}
