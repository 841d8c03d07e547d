package dev.ebb.json;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;

/** Parses one text in one pass. Refuses what RFC 8259 refuses, and duplicate names. */
final class JsonReader {
  static final int MAX_DEPTH = 100;

  private final String text;
  private int at;
  private int depth;

  JsonReader(String text) {
    this.text = text;
  }

  Object document() throws JsonException {
    Object value = value();
    skipSpace();
    if (at < text.length()) {
      throw bad("expected the end, found " + found());
    }
    return value;
  }

  private Object value() throws JsonException {
    skipSpace();
    if (at == text.length()) {
      throw bad("expected a value, found the end");
    }
    return switch (text.charAt(at)) {
      case '{' -> object();
      case '[' -> array();
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      case 'n' -> word("null", JsonNull.NULL);
      default -> number();
    };
  }

  private Object word(String word, Object value) throws JsonException {
    if (!text.startsWith(word, at)) {
      throw bad("expected " + word);
    }
    at += word.length();
    return value;
  }

  private JsonObject object() throws JsonException {
    enter();
    var members = new LinkedHashMap<String, Object>();
    if (!take('}')) {
      do {
        skipSpace();
        int start = at;
        if (at == text.length() || text.charAt(at) != '"') {
          throw bad("expected a name, found " + found());
        }
        String name = string();
        expect(':');
        if (members.put(name, value()) != null) {
          throw JsonException.at(start, "the name \"" + name + "\" comes twice");
        }
      } while (take(','));
      expect('}');
    }
    depth--;
    return new JsonObject(members);
  }

  private List<Object> array() throws JsonException {
    enter();
    var values = new ArrayList<Object>();
    if (!take(']')) {
      do {
        values.add(value());
      } while (take(','));
      expect(']');
    }
    depth--;
    return Collections.unmodifiableList(values);
  }

  private void enter() throws JsonException {
    if (++depth > MAX_DEPTH) {
      throw bad("nested deeper than " + MAX_DEPTH);
    }
    at++;
  }

  private String string() throws JsonException {
    int start = at++;
    var builder = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') {
        return checked(builder.toString(), start);
      }
      if (c < ' ') {
        throw JsonException.at(at - 1, "a control character in a string");
      }
      builder.append(c == '\\' ? escaped() : c);
    }
    throw JsonException.at(start, "the string does not end");
  }

  private static String checked(String string, int start) throws JsonException {
    int lone = Surrogates.firstLone(string);
    if (lone >= 0) {
      throw JsonException.at(start, "half a surrogate pair in a string");
    }
    return string;
  }

  private char escaped() throws JsonException {
    if (at == text.length()) {
      throw bad("the string does not end");
    }
    char c = text.charAt(at++);
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> unicode();
      default -> throw JsonException.at(at - 1, "no such escape");
    };
  }

  private char unicode() throws JsonException {
    int code = 0;
    for (int i = 0; i < 4; i++) {
      char c = at < text.length() ? text.charAt(at) : ' ';
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        throw bad("expected four hex digits");
      }
      code = code * 16 + digit;
      at++;
    }
    return (char) code;
  }

  private Object number() throws JsonException {
    int start = at;
    takeHere('-');
    if (!takeHere('0')) {
      digits();
    }
    boolean whole = true;
    if (takeHere('.')) {
      whole = false;
      digits();
    }
    if (takeHere('e') || takeHere('E')) {
      whole = false;
      if (!takeHere('+')) {
        takeHere('-');
      }
      digits();
    }
    return number(text.substring(start, at), whole, start);
  }

  /** Reads a whole number that does not fit a long as a double. */
  private static Object number(String digits, boolean whole, int start) throws JsonException {
    if (whole) {
      try {
        return Long.valueOf(digits);
      } catch (NumberFormatException e) {
        // Does not fit a long: read it as a double.
      }
    }
    double number = Double.parseDouble(digits);
    if (Double.isInfinite(number)) {
      throw JsonException.at(start, "the number is too large");
    }
    return number;
  }

  private void digits() throws JsonException {
    int start = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    if (at == start) {
      throw bad("expected a value, found " + found());
    }
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    skipSpace();
    return takeHere(c);
  }

  private boolean takeHere(char c) {
    boolean there = at < text.length() && text.charAt(at) == c;
    if (there) {
      at++;
    }
    return there;
  }

  private void expect(char c) throws JsonException {
    if (!take(c)) {
      throw bad("expected '" + c + "', found " + found());
    }
  }

  private String found() {
    if (at == text.length()) {
      return "the end";
    }
    char c = text.charAt(at);
    return c > ' ' && c < 127 ? "'" + c + "'" : String.format("U+%04X", (int) c);
  }

  private JsonException bad(String problem) {
    return JsonException.at(at, problem);
  }
}
