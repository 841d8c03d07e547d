package dev.ebb.cli.option;

import static dev.ebb.cli.option.Options.flag;
import static dev.ebb.cli.option.Options.size;
import static dev.ebb.cli.option.Options.value;

import dev.ebb.client.ExecRequest;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.ExecSpec;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** The options of a command, and what they mean to the daemon. */
public final class ExecOptions {
  private ExecOptions() {}

  public static void addTo(CommandSpec spec, String timeoutDefault) {
    addLimits(spec);
    spec.addOption(Options.duration("--timeout", "time limit; 0: none " + timeoutDefault))
        .addOption(
            Options.duration(
                "--grace", "time between SIGTERM and SIGKILL; 0: SIGKILL at once (default: 5s)"))
        .addOption(Options.list(new String[] {"-e", "--env"}, "NAME=VALUE", "environment variable"))
        .addOption(
            value(
                    "--workdir",
                    "DIR",
                    String.class,
                    text -> text,
                    "working directory (default: " + BoxPaths.WORKSPACE + ")")
                .toBuilder()
                .names("-w", "--workdir")
                .build())
        .addOption(flag("let background processes live until the box ends", "--keep"));
  }

  private static void addLimits(CommandSpec spec) {
    spec.addOption(
            size(
                "--output-limit",
                "limit of stdout and stderr together",
                ExecSpec.DEFAULT_OUTPUT_LIMIT))
        .addOption(
            value(
                "--nofile",
                "N",
                Integer.class,
                Options::count,
                "limit of open files of a process (default: " + ExecSpec.DEFAULT_OPEN_FILES + ")"))
        .addOption(size("--fsize", "size limit of one file", ExecSpec.DEFAULT_FILE_SIZE));
  }

  public static Map<String, String> environment(ParseResult parsed) {
    var environment = new LinkedHashMap<String, String>();
    for (String text : Options.many(parsed, "--env")) {
      int equals = text.indexOf('=');
      if (equals <= 0) {
        throw Options.bad(parsed, "bad environment variable \"" + text + "\": write NAME=VALUE");
      }
      environment.put(text.substring(0, equals), text.substring(equals + 1));
    }
    return environment;
  }

  public static boolean hasTerminal(ParseResult parsed) {
    return parsed.hasMatchedOption("--tty");
  }

  public static boolean isInteractive(ParseResult parsed) {
    return parsed.hasMatchedOption("--interactive");
  }

  public static Duration grace(ParseResult parsed) {
    return Options.get(parsed, "--grace", ExecSpec.DEFAULT_GRACE);
  }

  /** The request to the daemon; an option that is absent is left to the daemon. */
  public static ExecRequest request(ParseResult parsed, List<String> command) {
    if (command.isEmpty()) {
      throw Options.bad(parsed, "no command given");
    }
    ExecRequest request =
        ExecRequest.of(command)
            .withTimeout(Options.<Duration>find(parsed, "--timeout").orElse(null))
            .withGrace(Options.<Duration>find(parsed, "--grace").orElse(null))
            .withWorkdir(Options.<String>find(parsed, "--workdir").orElse(null))
            .withLimits(
                BoxOptions.bytes(parsed, "--output-limit"),
                Options.<Integer>find(parsed, "--nofile").orElse(null),
                BoxOptions.bytes(parsed, "--fsize"))
            .withKeep(parsed.hasMatchedOption("--keep"))
            .withOperator(parsed.hasMatchedOption("--operator"));
    for (var variable : environment(parsed).entrySet()) {
      request = request.withEnvironment(variable.getKey(), variable.getValue());
    }
    return request;
  }
}
