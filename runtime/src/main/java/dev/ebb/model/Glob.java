package dev.ebb.model;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;

/**
 * A pattern for paths: {@code *} and {@code ?} match any characters but a slash, {@code **} any at
 * all, <code>{a,b}</code> one of several. Both the pattern and the paths may be hostile: the time
 * to match is bounded by the product of both lengths. Immutable.
 */
public final class Glob {
  private static final int LENGTH_MOST = 256;
  private static final int CHOICES_MOST = 64;
  private static final String SPECIAL = "[]\\";

  private final String text;

  /** For each place in the text, the places that can be reached from it without a character. */
  private final List<BitSet> reached;

  private Glob(String text, List<BitSet> reached) {
    this.text = text;
    this.reached = reached;
  }

  /**
   * Parses a pattern.
   *
   * @throws IllegalArgumentException it is invalid; the message says why
   */
  public static Glob parse(String text) {
    if (text.isEmpty() || text.length() > LENGTH_MOST) {
      throw new IllegalArgumentException("a glob has 1 to " + LENGTH_MOST + " characters");
    }
    if (text.chars().anyMatch(c -> SPECIAL.indexOf(c) >= 0)) {
      throw new IllegalArgumentException("a glob knows *, **, ? and {a,b}, but none of " + SPECIAL);
    }
    return new Glob(text, reached(text, leaps(text)));
  }

  /** Returns where a brace or a comma of a choice leads. */
  private static List<List<Integer>> leaps(String text) {
    var leaps = new ArrayList<List<Integer>>();
    int open = -1;
    long choices = 1;
    for (int at = 0; at < text.length(); at++) {
      leaps.add(new ArrayList<>());
      switch (text.charAt(at)) {
        case '{' -> {
          requirePairs(open < 0);
          open = at;
          leaps.get(open).add(at + 1);
        }
        case ',' -> {
          if (open >= 0) {
            leaps.get(open).add(at + 1);
          }
        }
        case '}' -> {
          requirePairs(open >= 0);
          choices = countOf(choices, leaps.get(open).size());
          joinChoices(text, at, leaps.get(open), leaps);
          open = -1;
        }
        default -> {}
      }
    }
    requirePairs(open < 0);
    leaps.add(List.of());
    return leaps;
  }

  private static long countOf(long choices, int more) {
    if (choices * more > CHOICES_MOST) {
      throw new IllegalArgumentException("a glob has " + CHOICES_MOST + " choices at most");
    }
    return choices * more;
  }

  /** The end of each choice leads behind the closing brace. */
  private static void joinChoices(
      String text, int closing, List<Integer> begins, List<List<Integer>> leaps) {
    for (int begin : begins) {
      int end = begin;
      while (text.charAt(end) != ',' && text.charAt(end) != '}') {
        end++;
      }
      leaps.get(end).add(closing + 1);
    }
  }

  private static void requirePairs(boolean condition) {
    if (!condition) {
      throw new IllegalArgumentException("braces of a glob come in pairs, none within another");
    }
  }

  private static List<BitSet> reached(String text, List<List<Integer>> leaps) {
    var reached = new ArrayList<BitSet>(Collections.nCopies(text.length() + 1, new BitSet()));
    // ORDER: from the end on, for every way leads forward.
    for (int at = text.length(); at >= 0; at--) {
      var places = new BitSet();
      places.set(at);
      if (text.startsWith("*", at)) {
        places.or(reached.get(at + (text.startsWith("**", at) ? 2 : 1)));
      }
      for (int next : leaps.get(at)) {
        places.or(reached.get(next));
      }
      reached.set(at, places);
    }
    return List.copyOf(reached);
  }

  /** Follows all places in the pattern that the path so far can lead to, at once. */
  public boolean matches(String path) {
    var places = new BitSet();
    places.or(reached.getFirst());
    var next = new BitSet();
    for (int i = 0; i < path.length() && !places.isEmpty(); i++) {
      next.clear();
      for (int at = places.nextSetBit(0); at >= 0; at = places.nextSetBit(at + 1)) {
        int place = step(at, path.charAt(i));
        if (place >= 0) {
          next.or(reached.get(place));
        }
      }
      BitSet before = places;
      places = next;
      next = before;
    }
    return places.get(text.length());
  }

  /** Returns where this character leads; negative if nowhere. */
  private int step(int at, char c) {
    if (at == text.length()) {
      return -1;
    }
    return switch (text.charAt(at)) {
      case '*' -> c != '/' || text.startsWith("**", at) ? at : -1;
      case '?' -> c != '/' ? at + 1 : -1;
      default -> c == text.charAt(at) && !isMark(at) ? at + 1 : -1;
    };
  }

  /** Returns whether a brace, or a comma of a choice, is at this place: it matches no character. */
  private boolean isMark(int at) {
    return switch (text.charAt(at)) {
      case '{', '}' -> true;
      case ',' -> reached.get(at).cardinality() > 1;
      default -> false;
    };
  }
}
