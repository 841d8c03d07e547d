package dev.ebb.cli;

import dev.ebb.torture.Profile;
import dev.ebb.torture.Settings;
import dev.ebb.torture.Torture;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/** {@code ebb torture}: hostile work on a daemon of its own, and the proof that nothing is left. */
final class TortureCommand {
  private static final int MOST_BOXES = 64;

  private TortureCommand() {}

  static CommandSpec spec() {
    return Options.command(
            "torture",
            "Run hostile code on a daemon of its own, kill at random, and tell what is left.")
        .addOption(
            Options.value("--minutes", "N", Integer.class, Options::count, "how long (default: 1)"))
        .addOption(
            Options.value(
                "--seed", "S", Long.class, TortureCommand::seed, "what to do (default: random)"))
        .addOption(
            Options.value(
                "--boxes",
                "N",
                Integer.class,
                Options::count,
                "how many at once (default: 4, with --profile full 8)"))
        .addOption(
            Options.value(
                "--profile",
                "PROFILE",
                Profile.class,
                TortureCommand::profile,
                "quick or full (default: quick)"))
        .addOption(
            Options.value(
                "--only",
                "KIND",
                String.class,
                TortureCommand::kind,
                "one kind of kill or fault: " + String.join(", ", Settings.kinds())))
        .addOption(Options.text("--report", "DIR", "write report.txt, .json and .html there"))
        .addOption(
            Options.flag("plant each violation and show that it is seen", "--oracle-selftest"))
        .addOption(Options.json());
  }

  private static Long seed(String text) {
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException e) {
      throw new TypeConversionException("bad seed \"" + text + "\": write a whole number");
    }
  }

  private static Profile profile(String word) {
    for (Profile profile : Profile.values()) {
      if (profile.word().equals(word)) {
        return profile;
      }
    }
    throw new TypeConversionException("bad profile \"" + word + "\": write quick or full");
  }

  private static String kind(String word) {
    if (!Settings.kinds().contains(word)) {
      throw new TypeConversionException(
          "bad kind \"" + word + "\": write one of " + String.join(", ", Settings.kinds()));
    }
    return word;
  }

  static int run(ParseResult parsed) throws IOException, InterruptedException {
    Settings settings = settings(parsed);
    boolean selfTest = parsed.hasMatchedOption("--oracle-selftest");
    return AsideHome.visit(
        "torture",
        (host, isCalledOff) ->
            selfTest
                ? Torture.selfTest(host, settings.json())
                : Torture.run(settings, host, isCalledOff));
  }

  private static Settings settings(ParseResult parsed) {
    Profile profile = Options.get(parsed, "--profile", Profile.QUICK);
    int boxes = Options.get(parsed, "--boxes", profile.boxes());
    if (boxes > MOST_BOXES) {
      throw Options.bad(parsed, "more than " + MOST_BOXES + " boxes at once");
    }
    return new Settings(
        Duration.ofMinutes(Options.get(parsed, "--minutes", 1)),
        Options.<Long>find(parsed, "--seed").orElseGet(TortureCommand::randomSeed),
        boxes,
        profile,
        Options.find(parsed, "--only"),
        Options.<String>find(parsed, "--report").map(Path::of).map(Path::toAbsolutePath),
        parsed.hasMatchedOption("--json"));
  }

  private static long randomSeed() {
    return ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
  }
}
