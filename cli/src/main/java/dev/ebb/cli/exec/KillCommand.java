package dev.ebb.cli.exec;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.ExecNumbers;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.Execs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb kill}: ends commands of a box, or sends them a signal. */
public final class KillCommand {
  private KillCommand() {}

  public static CommandSpec spec() {
    OptionSpec signal =
        Options.text(
                "--signal", "SIGNAL", "send only this signal instead, and do not wait for the end")
            .toBuilder()
            .names("-s", "--signal")
            .build();
    return Options.command("kill", "End commands of a box: SIGTERM, grace period, SIGKILL.")
        .addOption(signal)
        .addOption(
            Options.duration(
                "--grace", "grace period before SIGKILL; 0: SIGKILL at once (default: 5s)"))
        .addOption(Options.noWait())
        .addOption(Options.json())
        .addPositional(
            Options.positional("BOX EXEC...", "2..*", "the box and the numbers of commands"));
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    String box = Options.box(parsed, Options.words(parsed).getFirst());
    List<Long> numbers = ExecNumbers.parse(parsed);
    String signal = signal(Options.get(parsed, "--signal", "TERM"));
    try (EbbClient client = DaemonConnection.open(caller)) {
      for (long number : numbers) {
        Exec exec = kill(client.execs(box), number, signal, parsed);
        caller.out().println(parsed.hasMatchedOption("--json") ? exec.document() : exec.number());
      }
    }
    return 0;
  }

  /** Parses a signal as kill(1) does: with or without SIG, in upper or lower case. */
  public static String signal(String text) {
    String upper = text.toUpperCase(Locale.ROOT);
    return upper.startsWith("SIG") ? upper.substring(3) : upper;
  }

  private static Exec kill(Execs execs, long number, String signal, ParseResult parsed)
      throws IOException {
    return switch (signal) {
      case "TERM", "15" -> end(execs, number, ExecOptions.grace(parsed), parsed);
      case "KILL", "9" -> end(execs, number, Duration.ZERO, parsed);
      default -> execs.signal(number, signal);
    };
  }

  private static Exec end(Execs execs, long number, Duration grace, ParseResult parsed)
      throws IOException {
    return parsed.hasMatchedOption("--no-wait")
        ? execs.beginKill(number, grace)
        : execs.kill(number, grace);
  }
}
