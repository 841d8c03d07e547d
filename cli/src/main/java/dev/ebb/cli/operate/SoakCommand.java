package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.torture.soak.Soak;
import dev.ebb.torture.soak.SoakSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb soak}: thousands of runs on a daemon of its own, and what of it grows. */
public final class SoakCommand {
  private static final int RUNS = 1000;
  private static final int CLIENTS = 8;
  private static final int MOST_CLIENTS = 200;

  /** Fewer, and neither a JVM nor a few boxes fit. */
  private static final int LEAST_FILES = 256;

  private SoakCommand() {}

  public static CommandSpec spec() {
    return Options.command(
            "soak", "Run thousands of commands on a separate daemon, and report what grows.")
        .addOption(count("--runs", "number of commands (default: " + RUNS + ")"))
        .addOption(count("--clients", "number of clients at a time (default: " + CLIENTS + ")"))
        .addOption(
            count("--nofile", "descriptor limit of the daemon (default: that of this command)"))
        .addOption(
            Options.text(
                "--packages",
                "DIR",
                "directory of python packages that the boxes mount and import"))
        .addOption(
            Options.text(
                "--report",
                "DIR",
                "write report.txt, report.json and report.html to this directory"))
        .addOption(Options.json());
  }

  private static OptionSpec count(String name, String description) {
    return Options.value(name, "N", Integer.class, Options::count, description);
  }

  public static int run(Caller caller, ParseResult parsed)
      throws IOException, InterruptedException {
    SoakSettings settings = settings(caller, parsed);
    return TrialHome.visit(
        caller, "soak", (host, isCalledOff) -> Soak.run(settings, host, isCalledOff));
  }

  private static SoakSettings settings(Caller caller, ParseResult parsed) {
    int clients = Options.get(parsed, "--clients", CLIENTS);
    if (clients > MOST_CLIENTS) {
      throw Options.bad(parsed, "too many clients: at most " + MOST_CLIENTS);
    }
    int files = Options.get(parsed, "--nofile", 0);
    if (files > 0 && files < LEAST_FILES) {
      throw Options.bad(parsed, "--nofile too small: a daemon needs at least " + LEAST_FILES);
    }
    return new SoakSettings(
        Options.get(parsed, "--runs", RUNS),
        clients,
        files,
        packages(caller, parsed),
        List.of(),
        Options.<String>find(parsed, "--report").map(caller::absolutePath),
        parsed.hasMatchedOption("--json"));
  }

  private static Optional<Path> packages(Caller caller, ParseResult parsed) {
    Optional<Path> packages = Options.<String>find(parsed, "--packages").map(caller::absolutePath);
    if (packages.filter(path -> !Files.isDirectory(path)).isPresent()) {
      throw Options.bad(parsed, "--packages " + packages.get() + " is not a directory");
    }
    return packages;
  }
}
