package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.torture.Profile;
import dev.ebb.torture.Settings;
import dev.ebb.torture.Torture;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/** {@code ebb torture}: hostile work on a daemon of its own, and the proof that nothing is left. */
public final class TortureCommand {
  private static final int MOST_BOXES = 64;

  private TortureCommand() {}

  public static CommandSpec spec() {
    return Options.command(
            "torture",
            "Run hostile code on a separate daemon, kill at random, and report what is left.")
        .addOption(minutesOption())
        .addOption(seedOption())
        .addOption(boxesOption())
        .addOption(profileOption())
        .addOption(onlyOption())
        .addOption(
            Options.text(
                "--report",
                "DIR",
                "write report.txt, report.json and report.html to this directory"))
        .addOption(
            Options.flag(
                "plant each kind of leak and check that it is detected", "--oracle-selftest"))
        .addOption(Options.json());
  }

  private static OptionSpec minutesOption() {
    return Options.value(
        "--minutes",
        "N",
        Duration.class,
        TortureCommand::minutes,
        "duration in minutes, as 5 or 0.5 (default: 1)");
  }

  private static Duration minutes(String text) {
    try {
      double minutes = Double.parseDouble(text);
      // A second at least, a year at most.
      if (minutes * 60 >= 1 && minutes <= 366 * 24 * 60) {
        return Duration.ofMillis((long) (minutes * 60_000));
      }
    } catch (NumberFormatException e) {
      // Reported below, with the other errors.
    }
    throw new TypeConversionException("bad number of minutes \"" + text + "\": write 5 or 0.5");
  }

  private static OptionSpec seedOption() {
    return Options.value(
        "--seed",
        "S",
        Long.class,
        TortureCommand::seed,
        "seed of the random plan, to repeat a run (default: random)");
  }

  private static OptionSpec boxesOption() {
    return Options.value(
        "--boxes",
        "N",
        Integer.class,
        Options::count,
        "number of boxes at a time (default: 4; 8 with --profile full)");
  }

  private static OptionSpec profileOption() {
    return Options.value(
        "--profile",
        "PROFILE",
        Profile.class,
        TortureCommand::profile,
        "quick or full (default: quick)");
  }

  private static OptionSpec onlyOption() {
    return Options.value(
        "--only",
        "KIND",
        String.class,
        TortureCommand::kind,
        "only this kind of kill or fault: " + String.join(", ", Settings.kinds()));
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
      if (profile.wireName().equals(word)) {
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

  public static int run(Caller caller, ParseResult parsed)
      throws IOException, InterruptedException {
    Settings settings = settings(caller, parsed);
    boolean selfTest = parsed.hasMatchedOption("--oracle-selftest");
    return TrialHome.visit(
        caller,
        "torture",
        (host, isCalledOff) ->
            selfTest
                ? Torture.selfTest(host, settings.json())
                : Torture.run(settings, host, isCalledOff));
  }

  private static Settings settings(Caller caller, ParseResult parsed) {
    Profile profile = Options.get(parsed, "--profile", Profile.QUICK);
    int boxes = Options.get(parsed, "--boxes", profile.boxes());
    if (boxes > MOST_BOXES) {
      throw Options.bad(parsed, "too many boxes: at most " + MOST_BOXES);
    }
    return new Settings(
        Options.get(parsed, "--minutes", Duration.ofMinutes(1)),
        Options.<Long>find(parsed, "--seed").orElseGet(TortureCommand::randomSeed),
        boxes,
        profile,
        Options.find(parsed, "--only"),
        Options.<String>find(parsed, "--report").map(caller::absolutePath),
        parsed.hasMatchedOption("--json"));
  }

  private static long randomSeed() {
    return ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
  }
}
