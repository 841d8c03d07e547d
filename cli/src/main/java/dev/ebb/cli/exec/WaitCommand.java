package dev.ebb.cli.exec;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.ExecNumbers;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.Shown;
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
public final class WaitCommand {
  private WaitCommand() {}

  public static CommandSpec spec() {
    return Options.command("wait", "Wait until commands end, and print their exit codes.")
        .addOption(
            Options.duration(
                "--timeout", "time to wait for each; then exit with 124 (default: no limit)"))
        .addOption(Options.json())
        .addPositional(
            Options.positional(
                "BOX [EXEC...]",
                "1..*",
                "the box and the numbers of commands (default: the last one)"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    List<Long> numbers = ExecNumbers.parse(parsed);
    Optional<Duration> timeout = Options.find(parsed, "--timeout");
    try (EbbClient client = DaemonConnection.open(caller)) {
      Execs execs = client.execs(box);
      for (long number : ExecNumbers.orLast(numbers, execs)) {
        Exec exec = timeout.isPresent() ? execs.await(number, timeout.get()) : execs.await(number);
        if (!exec.hasEnded()) {
          caller.err().println("ebb: exec " + number + " has not ended yet");
          return ExitCode.TIMED_OUT;
        }
        caller
            .out()
            .println(
                parsed.hasMatchedOption("--json")
                    ? exec.document()
                    : Shown.orNothing(exec.exitCode()));
      }
    }
    return 0;
  }
}
