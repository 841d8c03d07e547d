package dev.ebb.cli;

import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.Execs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb wait}: until commands end. */
final class WaitCommand {
  private static final int TIMEOUT_CODE = 124;

  private WaitCommand() {}

  static CommandSpec spec() {
    return Options.command("wait", "Wait until commands end, and print their exit codes.")
        .addOption(Options.duration("--timeout", "for each, then exit with 124 (default: none)"))
        .addOption(Options.json())
        .addPositional(
            Options.positional(
                "BOX [EXEC...]", "1..*", "the box, and numbers of commands (default: the last)"));
  }

  static int run(ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    List<Long> numbers = ExecNumbers.parse(parsed);
    Optional<Duration> timeout = Options.find(parsed, "--timeout");
    try (EbbClient client = DaemonConnection.open()) {
      Execs execs = client.execs(box);
      for (long number : ExecNumbers.orLast(numbers, execs)) {
        Exec exec = timeout.isPresent() ? execs.await(number, timeout.get()) : execs.await(number);
        if (!exec.hasEnded()) {
          System.err.println("ebb: exec " + number + " has not ended yet");
          return TIMEOUT_CODE;
        }
        System.out.println(
            parsed.hasMatchedOption("--json") ? exec.document() : Shown.orNothing(exec.exitCode()));
      }
    }
    return 0;
  }
}
