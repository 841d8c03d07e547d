package dev.ebb.model;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A number of bytes, written as 64k, 512m, 2g, or plain. */
public record ByteSize(long bytes) {
  private static final Pattern FORM = Pattern.compile("(\\d{1,18})([kmgt]?)(?:i?b)?");
  private static final String UNITS = "kmgt";

  public ByteSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("a size cannot be negative: " + bytes);
    }
  }

  public static ByteSize mebibytes(long count) {
    return new ByteSize(Math.multiplyExact(count, 1L << 20));
  }

  /**
   * Parses a size.
   *
   * @throws IllegalArgumentException with a message for the person who typed it
   */
  public static ByteSize parse(String text) {
    Matcher matcher = FORM.matcher(text.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "bad size \"" + text + "\": write a number of bytes, or one with k, m, g or t (512m)");
    }
    int unit = matcher.group(2).isEmpty() ? -1 : UNITS.indexOf(matcher.group(2));
    try {
      long factor = 1L << (10 * (unit + 1));
      return new ByteSize(Math.multiplyExact(Long.parseLong(matcher.group(1)), factor));
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("bad size \"" + text + "\": too large", e);
    }
  }

  /** Returns the shortest exact form. */
  @Override
  public String toString() {
    for (int unit = UNITS.length() - 1; unit >= 0; unit--) {
      long factor = 1L << (10 * (unit + 1));
      if (bytes >= factor && bytes % factor == 0) {
        return bytes / factor + UNITS.substring(unit, unit + 1);
      }
    }
    return Long.toString(bytes);
  }
}
