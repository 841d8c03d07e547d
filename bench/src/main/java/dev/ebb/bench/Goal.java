package dev.ebb.bench;

import java.util.Locale;

/**
 * Something that is to be reached, and how near it is.
 *
 * @param atMost what {@code value} may be; negative: what it must be at least, without its sign
 */
record Goal(String what, double value, double atMost) {
  boolean isReached() {
    return atMost < 0 ? value >= -atMost : value <= atMost;
  }

  String row() {
    return String.format(
        Locale.ROOT,
        "| %s | %.2f | %s %.2f | %s |",
        what,
        value,
        atMost < 0 ? "at least" : "at most",
        Math.abs(atMost),
        isReached() ? "reached" : "**missed**");
  }
}
