package dev.ebb.cli.exec;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.option.ExecNumbers;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.Plain;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.Execs;
import dev.ebb.client.Offsets;
import dev.ebb.client.OutputStreamName;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb logs}: what a command wrote. */
public final class LogsCommand {
  private LogsCommand() {}

  public static CommandSpec spec() {
    return Options.command("logs", "Print the output of a command.")
        .addOption(Options.flag("follow the output until the command ends", "-f", "--follow"))
        .addPositional(
            Options.positional(
                "BOX [EXEC]",
                "1..2",
                "the box and the number of a command (default: the last one)"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    List<Long> numbers = ExecNumbers.parse(parsed);
    OutputStream out = Plain.log(caller.rawOut(), caller.isTerminal(Terminal.Stream.STDOUT));
    OutputStream err = Plain.log(caller.rawErr(), caller.isTerminal(Terminal.Stream.STDERR));
    try (EbbClient client = DaemonConnection.open(caller)) {
      Execs execs = client.execs(box);
      long number = ExecNumbers.orLast(numbers, execs).getFirst();
      if (parsed.hasMatchedOption("--follow")) {
        return explain(caller, follow(execs, number, out, err));
      }
      copy(execs.output(number, OutputStreamName.STDOUT, 0), out);
      copy(execs.output(number, OutputStreamName.STDERR, 0), err);
      return explain(caller, execs.inspect(number));
    }
  }

  /** Prints what is missing in the output, and returns the exit code. */
  private static int explain(Caller caller, Exec exec) {
    if (exec.inputCut()) {
      caller
          .err()
          .println("ebb: the input of this command was cut: its daemon ended before the input did");
    }
    if (exec.lost() != null) {
      caller.err().println("ebb: " + ExecEnd.words(exec.lost()));
      return ExitCode.OWN_FAILURE;
    }
    if (exec.truncated()) {
      caller.err().println("ebb: output above the limit was cut (--output-limit)");
    }
    return 0;
  }

  private static void copy(InputStream from, OutputStream to) throws IOException {
    try (from) {
      from.transferTo(to);
    }
  }

  private static Exec follow(Execs execs, long number, OutputStream out, OutputStream err)
      throws IOException {
    try (var following = execs.follow(number, Offsets.START)) {
      while (true) {
        switch (following.next().orElseThrow()) {
          case ExecEvent.Wrote(var stream, var output, _) ->
              (stream == OutputStreamName.STDOUT ? out : err).write(output.bytes());
          case ExecEvent.Ended(var result) -> {
            return result.exec();
          }
          case ExecEvent.Started _ -> {}
          case ExecEvent.Lost _ -> {} // its end reports that
        }
      }
    }
  }
}
