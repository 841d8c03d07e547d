package dev.ebb.cli.output;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Values as people read them. */
public final class Shown {
  public static final String NOTHING = "-";
  private static final int COMMAND_WIDTH = 60;

  private Shown() {}

  public static String orNothing(@Nullable Object value) {
    return value == null ? NOTHING : value.toString();
  }

  /** The largest unit that fits, rounded down: 340ms, 12s, 5m, 3h, 2d. */
  public static String duration(Duration duration) {
    if (duration.isNegative()) {
      return "0s";
    }
    if (duration.toSeconds() < 1) {
      return duration.toMillis() + "ms";
    }
    if (duration.toMinutes() < 1) {
      return duration.toSeconds() + "s";
    }
    if (duration.toHours() < 1) {
      return duration.toMinutes() + "m";
    }
    return duration.toDays() < 1 ? duration.toHours() + "h" : duration.toDays() + "d";
  }

  /** A size with one digit after the point: 512B, 1.5k, 12.0m. */
  public static String size(long bytes) {
    if (bytes < 1024) {
      return bytes + "B";
    }
    double size = bytes;
    int unit = -1;
    while (size >= 1024 && unit < 3) {
      size /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f%c", size, "kmgt".charAt(unit));
  }

  /** A command as it is typed in a shell, shortened if it is long. */
  public static String command(List<String> words) {
    return line(words.stream().map(Shown::quoted).collect(Collectors.joining(" ")));
  }

  public static String line(String text) {
    return text.length() <= COMMAND_WIDTH ? text : text.substring(0, COMMAND_WIDTH - 1) + "…";
  }

  private static String quoted(String word) {
    return word.matches("[\\w@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
  }
}
