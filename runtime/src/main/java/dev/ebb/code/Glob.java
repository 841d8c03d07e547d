package dev.ebb.code;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Which files are meant: {@code *} and {@code ?} are any characters but a slash, {@code **} any at
 * all, <code>{a,b}</code> one of several. Whoever writes it, and whoever chooses the names, may be
 * hostile: the time to match is bounded by the product of both lengths. Immutable.
 */
public final class Glob {
  private static final int LENGTH_MOST = 256;
  private static final int CHOICES_MOST = 64;
  private static final String SPECIAL = "[]\\";

  private final List<String> choices;

  private Glob(List<String> choices) {
    this.choices = choices;
  }

  /**
   * What the text means.
   *
   * @throws IllegalArgumentException it means nothing; the message says why
   */
  public static Glob parse(String text) {
    if (text.isEmpty() || text.length() > LENGTH_MOST) {
      throw new IllegalArgumentException("a glob has 1 to " + LENGTH_MOST + " characters");
    }
    if (text.chars().anyMatch(c -> SPECIAL.indexOf(c) >= 0)) {
      throw new IllegalArgumentException("a glob knows *, **, ? and {a,b}, but none of " + SPECIAL);
    }
    var choices = new ArrayList<String>();
    expand("", text, choices);
    return new Glob(List.copyOf(choices));
  }

  private static void expand(String head, String rest, List<String> choices) {
    int open = rest.indexOf('{');
    int close = rest.indexOf('}');
    if (open < 0 && close < 0) {
      if (choices.size() == CHOICES_MOST) {
        throw new IllegalArgumentException("a glob has " + CHOICES_MOST + " choices at most");
      }
      choices.add(head + rest);
      return;
    }
    String inner = open >= 0 && open < close ? rest.substring(open + 1, close) : "{";
    if (inner.indexOf('{') >= 0) {
      throw new IllegalArgumentException("braces of a glob come in pairs, none within another");
    }
    for (String each : inner.split(",", -1)) {
      expand(head + rest.substring(0, open) + each, rest.substring(close + 1), choices);
    }
  }

  public boolean matches(String path) {
    return choices.stream().anyMatch(choice -> matches(choice, path));
  }

  /** All places in the glob that so much of the path can lead to, at once. */
  private static boolean matches(String glob, String path) {
    var places = new BitSet();
    places.set(0);
    skipStars(glob, places);
    for (int i = 0; i < path.length() && !places.isEmpty(); i++) {
      var next = new BitSet();
      for (int at = places.nextSetBit(0); at >= 0; at = places.nextSetBit(at + 1)) {
        if (at < glob.length()) {
          step(glob, at, path.charAt(i), next);
        }
      }
      skipStars(glob, next);
      places = next;
    }
    return places.get(glob.length());
  }

  private static void step(String glob, int at, char c, BitSet next) {
    switch (glob.charAt(at)) {
      case '*' -> {
        if (c != '/' || glob.startsWith("**", at)) {
          next.set(at);
        }
      }
      case '?' -> {
        if (c != '/') {
          next.set(at + 1);
        }
      }
      default -> {
        if (c == glob.charAt(at)) {
          next.set(at + 1);
        }
      }
    }
  }

  /** A star may stand for nothing. */
  private static void skipStars(String glob, BitSet places) {
    for (int at = places.nextSetBit(0); at >= 0; at = places.nextSetBit(at + 1)) {
      if (at < glob.length() && glob.charAt(at) == '*') {
        places.set(at + (glob.startsWith("**", at) ? 2 : 1));
      }
    }
  }
}
