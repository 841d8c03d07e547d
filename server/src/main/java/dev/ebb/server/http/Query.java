package dev.ebb.server.http;

import dev.ebb.model.BoxText;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** The query parameters of a request. A value may hold any bytes, as may a name in a box. */
record Query(Map<String, List<String>> values) {
  static final Query NONE = new Query(Map.of());

  /**
   * The parameters that a route knows, and those that it skips because they belong to another part.
   */
  record Known(Set<String> names, Predicate<String> skipped) {}

  static Query parse(String text, Set<String> known) {
    return parse(text, new Known(known, _ -> false));
  }

  /**
   * Parses the raw text after the question mark; refuses names that are neither known nor skipped.
   */
  static Query parse(String text, Known known) {
    var values = new LinkedHashMap<String, List<String>>();
    for (String pair : text.split("&")) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = decode(equals < 0 ? pair : pair.substring(0, equals));
      if (!known.names().contains(name)) {
        if (known.skipped().test(name)) {
          continue;
        }
        throw unknown(name, known.names());
      }
      values
          .computeIfAbsent(name, key -> new ArrayList<>())
          .add(equals < 0 ? "" : decode(pair.substring(equals + 1)));
    }
    return new Query(values);
  }

  private static Problem unknown(String name, Set<String> known) {
    String names = known.isEmpty() ? "none" : String.join(", ", known.stream().sorted().toList());
    return new Problem(
        Problem.Code.BAD_REQUEST, "unknown query \"" + name + "\"; known here: " + names);
  }

  /** Returns the first value of one name, and ignores everything else. */
  static Optional<String> first(String text, String name) {
    return parse(text, new Known(Set.of(name), _ -> true)).all(name).stream().findFirst();
  }

  List<String> all(String name) {
    return values.getOrDefault(name, List.of());
  }

  /** Decodes percent and plus, as in forms. */
  static String decode(String text) {
    var bytes = new ByteArrayOutputStream(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '%') {
        bytes.write(hex(text, i));
        i += 2;
      } else if (c == '+') {
        bytes.write(' ');
      } else {
        int point = text.codePointAt(i);
        bytes.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
        i += Character.charCount(point) - 1;
      }
    }
    return BoxText.decode(bytes.toByteArray(), 0, bytes.size());
  }

  private static int hex(String text, int at) {
    if (at + 2 < text.length()) {
      int high = Character.digit(text.charAt(at + 1), 16);
      int low = Character.digit(text.charAt(at + 2), 16);
      if (high >= 0 && low >= 0) {
        return high << 4 | low;
      }
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "\"" + text + "\" is not encoded well");
  }
}
