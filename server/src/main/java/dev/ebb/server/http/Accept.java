package dev.ebb.server.http;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The media types that a client accepts, by its Accept header (RFC 9110, section 12.5.1).
 * Parameters other than {@code q} are ignored. A range that cannot be read is ignored; without a
 * readable range, everything is accepted, as without the header. Immutable.
 */
public record Accept(List<Range> ranges) {
  private static final String ANY = "*";

  /** Media types with one quality, in thousandths. */
  record Range(String type, String subtype, int quality) {
    /** Returns how closely it names a type: 0 for all types, 2 for one type. */
    private int closeness() {
      return subtype.equals(ANY) ? type.equals(ANY) ? 0 : 1 : 2;
    }

    private boolean matches(String offer) {
      int slash = offer.indexOf('/');
      return (type.equals(ANY) || type.equals(offer.substring(0, slash)))
          && (subtype.equals(ANY) || subtype.equals(offer.substring(slash + 1)));
    }
  }

  private static final Range EVERYTHING = new Range(ANY, ANY, 1000);

  /** The closest range decides the quality of a type; of equally close ranges, the best. */
  private static final Comparator<Range> CLOSER =
      Comparator.comparingInt(Range::closeness).thenComparingInt(Range::quality);

  private static final Comparator<Range> BETTER =
      Comparator.comparingInt(Range::quality).thenComparingInt(Range::closeness);

  public Accept {
    ranges = List.copyOf(ranges);
  }

  /** Reads the values of all Accept headers of a request. */
  public static Accept of(List<String> values) {
    var ranges = values.stream().flatMap(Accept::split).flatMap(each -> range(each).stream());
    return new Accept(ranges.toList());
  }

  /** Returns whether the client accepts this type. */
  public boolean allows(String type) {
    return closest(type).filter(range -> range.quality > 0).isPresent();
  }

  /**
   * Returns the offer with the highest quality; of several the one that the client names itself,
   * and not by a wildcard; of several the first.
   */
  public Optional<String> choose(String... offers) {
    Optional<String> best = Optional.empty();
    for (String offer : offers) {
      if (allows(offer) && best.filter(other -> !isBetter(offer, other)).isEmpty()) {
        best = Optional.of(offer);
      }
    }
    return best;
  }

  private boolean isBetter(String offer, String other) {
    return BETTER.compare(closest(offer).orElseThrow(), closest(other).orElseThrow()) > 0;
  }

  private Optional<Range> closest(String type) {
    return ranges.isEmpty()
        ? Optional.of(EVERYTHING)
        : ranges.stream().filter(range -> range.matches(type)).max(CLOSER);
  }

  // --- the header ---

  /** Splits a list at its commas, but not at those in quotes. */
  private static Stream<String> split(String list) {
    return split(list, ',').stream();
  }

  private static List<String> split(String text, char separator) {
    var parts = new ArrayList<String>();
    boolean isQuoted = false;
    int begin = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (isQuoted && c == '\\') {
        i++;
      } else if (c == '"') {
        isQuoted = !isQuoted;
      } else if (c == separator && !isQuoted) {
        parts.add(text.substring(begin, i).strip());
        begin = i + 1;
      }
    }
    parts.add(text.substring(begin).strip());
    return parts;
  }

  private static Optional<Range> range(String text) {
    List<String> parts = split(text, ';');
    // Java's HttpURLConnection sends "*" for all types.
    String name = parts.getFirst().equals(ANY) ? "*/*" : parts.getFirst();
    String[] types = name.toLowerCase(Locale.ROOT).split("/", -1);
    boolean isWell =
        types.length == 2
            && isToken(types[0])
            && isToken(types[1])
            && (!types[0].equals(ANY) || types[1].equals(ANY));
    return isWell
        ? quality(parts.subList(1, parts.size()))
            .map(quality -> new Range(types[0], types[1], quality))
        : Optional.empty();
  }

  private static boolean isToken(String text) {
    return !text.isEmpty()
        && text.chars().allMatch(c -> c > ' ' && c < 127 && "\"(),/:;<=>?@[\\]{}".indexOf(c) < 0);
  }

  /** Reads the parameter q, which is 1 if absent. */
  private static Optional<Integer> quality(List<String> parameters) {
    for (String parameter : parameters) {
      if (parameter.length() > 1 && parameter.toLowerCase(Locale.ROOT).startsWith("q=")) {
        return thousandths(parameter.substring(2));
      }
    }
    return Optional.of(1000);
  }

  /** Reads a number from 0 to 1 with up to three decimals; also without the digit before them. */
  private static Optional<Integer> thousandths(String text) {
    int point = text.indexOf('.');
    String whole = point < 0 ? text : text.substring(0, point);
    String decimals = point < 0 ? "" : text.substring(point + 1);
    boolean isWell =
        (whole.equals("0") || whole.equals("1") || (whole.isEmpty() && !decimals.isEmpty()))
            && decimals.length() <= 3
            && decimals.chars().allMatch(c -> c >= '0' && c <= '9');
    int value =
        isWell ? Integer.parseInt(("0" + whole) + (decimals + "000").substring(0, 3)) : 1001;
    return value <= 1000 ? Optional.of(value) : Optional.empty();
  }
}
