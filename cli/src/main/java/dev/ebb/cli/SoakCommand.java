package dev.ebb.cli;

import dev.ebb.torture.soak.Soak;
import dev.ebb.torture.soak.SoakSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb soak}: thousands of runs on a daemon of its own, and what of it grows. */
final class SoakCommand {
  private static final int RUNS = 1000;
  private static final int CLIENTS = 8;
  private static final int MOST_CLIENTS = 200;

  /** Fewer, and neither a JVM nor a few boxes fit. */
  private static final int LEAST_FILES = 256;

  private SoakCommand() {}

  static CommandSpec spec() {
    return Options.command(
            "soak", "Run thousands of commands on a daemon of its own, and tell what grows.")
        .addOption(
            Options.value(
                "--runs", "N", Integer.class, Options::count, "how many (default: " + RUNS + ")"))
        .addOption(
            Options.value(
                "--clients",
                "N",
                Integer.class,
                Options::count,
                "how many at once (default: " + CLIENTS + ")"))
        .addOption(
            Options.value(
                "--nofile",
                "N",
                Integer.class,
                Options::count,
                "how many descriptors the daemon may have (default: as many as this command)"))
        .addOption(
            Options.text(
                "--packages", "DIR", "python packages that boxes are shown, and import from"))
        .addOption(Options.text("--report", "DIR", "write report.txt, .json and .html there"))
        .addOption(Options.json());
  }

  static int run(ParseResult parsed) throws IOException, InterruptedException {
    SoakSettings settings = settings(parsed);
    return AsideHome.visit("soak", (host, isCalledOff) -> Soak.run(settings, host, isCalledOff));
  }

  private static SoakSettings settings(ParseResult parsed) {
    int clients = Options.get(parsed, "--clients", CLIENTS);
    if (clients > MOST_CLIENTS) {
      throw Options.bad(parsed, "more than " + MOST_CLIENTS + " clients");
    }
    int files = Options.get(parsed, "--nofile", 0);
    if (files > 0 && files < LEAST_FILES) {
      throw Options.bad(parsed, "--nofile below " + LEAST_FILES + ": no daemon starts there");
    }
    Optional<Path> packages = Options.<String>find(parsed, "--packages").map(SoakCommand::path);
    if (packages.filter(path -> !Files.isDirectory(path)).isPresent()) {
      throw Options.bad(parsed, "--packages " + packages.get() + " is no directory");
    }
    return new SoakSettings(
        Options.get(parsed, "--runs", RUNS),
        clients,
        files,
        packages,
        List.of(),
        Options.<String>find(parsed, "--report").map(SoakCommand::path),
        parsed.hasMatchedOption("--json"));
  }

  private static Path path(String text) {
    return Path.of(text).toAbsolutePath();
  }
}
