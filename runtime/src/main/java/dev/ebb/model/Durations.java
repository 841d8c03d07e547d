package dev.ebb.model;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them. */
public final class Durations {
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})(ms|s|m|h|d)?");

  private Durations() {}

  /** Parses 500ms, 30s, 5m, 2h, 7d, or a number of seconds. */
  public static Duration parse(String text) {
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "bad duration \"" + text + "\": write 500ms, 30s, 5m, 2h, or a number of seconds");
    }
    long count = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(count);
      case "m" -> Duration.ofMinutes(count);
      case "h" -> Duration.ofHours(count);
      case "d" -> Duration.ofDays(count);
      case null, default -> Duration.ofSeconds(count);
    };
  }
}
