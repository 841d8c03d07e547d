package dev.ebb.client.http;

import java.net.ProtocolException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Header fields in their order; names match in any case. */
public final class Headers {
  private final List<Field> fields;

  private record Field(String name, String value) {}

  private Headers(List<Field> fields) {
    this.fields = Collections.unmodifiableList(fields);
  }

  static Headers none() {
    return new Headers(List.of());
  }

  Headers with(String name, String value) {
    requireCharacters(name, value);
    var more = new ArrayList<>(fields);
    more.add(new Field(name, value));
    return new Headers(more);
  }

  /** A line break in a value would begin another field. */
  private static void requireCharacters(String name, String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if ((c < ' ' && c != '\t') || c > 126) {
        throw new IllegalArgumentException("header " + name + " cannot hold this value");
      }
    }
  }

  public Optional<String> first(String name) {
    List<String> all = all(name);
    return all.isEmpty() ? Optional.empty() : Optional.of(all.get(0));
  }

  List<String> all(String name) {
    return fields.stream().filter(f -> f.name.equalsIgnoreCase(name)).map(Field::value).toList();
  }

  /** Returns whether a comma-separated list holds the word. */
  boolean lists(String name, String word) {
    for (String value : all(name)) {
      for (String each : value.split(",")) {
        if (each.strip().toLowerCase(Locale.ROOT).equals(word)) {
          return true;
        }
      }
    }
    return false;
  }

  void writeTo(StringBuilder head) {
    for (Field field : fields) {
      head.append(field.name).append(": ").append(field.value).append("\r\n");
    }
  }

  /** Collects the lines of a response. */
  static final class Parser {
    private final List<Field> fields = new ArrayList<>();

    void line(String line) throws ProtocolException {
      int colon = line.indexOf(':');
      String name = colon < 0 ? "" : line.substring(0, colon);
      if (name.isEmpty() || !name.chars().allMatch(Parser::isNameCharacter)) {
        throw new ProtocolException("malformed header line");
      }
      fields.add(new Field(name, line.substring(colon + 1).strip()));
    }

    private static boolean isNameCharacter(int c) {
      return c > ' ' && c < 127 && "\"(),/:;<=>?@[\\]{}".indexOf(c) < 0;
    }

    Headers done() {
      return new Headers(fields);
    }
  }
}
