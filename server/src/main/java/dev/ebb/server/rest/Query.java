package dev.ebb.server.rest;

import dev.ebb.backend.BoxText;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a request. Any byte can be in one: a name in a box may be any bytes. */
record Query(Map<String, List<String>> values) {
  static final Query NONE = new Query(Map.of());

  /** Of the raw text after the question mark; what is not in {@code known} is refused. */
  static Query parse(String text, Set<String> known) {
    var values = new LinkedHashMap<String, List<String>>();
    for (String pair : text.split("&")) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = decode(equals < 0 ? pair : pair.substring(0, equals));
      if (!known.contains(name)) {
        String names =
            known.isEmpty() ? "none" : String.join(", ", known.stream().sorted().toList());
        throw new Problem(
            Problem.Code.BAD_REQUEST, "unknown query \"" + name + "\"; known here: " + names);
      }
      values
          .computeIfAbsent(name, key -> new ArrayList<>())
          .add(equals < 0 ? "" : decode(pair.substring(equals + 1)));
    }
    return new Query(values);
  }

  List<String> all(String name) {
    return values.getOrDefault(name, List.of());
  }

  /** Percent and plus, as forms have them. */
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
