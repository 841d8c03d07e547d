package dev.ebb.server.rest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * JSON that somebody sent, read in one pass. Refuses what RFC 8259 refuses, a name given twice, and
 * what is nested so deep that it would take the thread's stack.
 *
 * <p>Not avaje's parser: that one refuses every string of more than 50,000 characters, and a file
 * or an input is one string.
 */
final class JsonText {
  private static final int DEEPEST = 32;

  private final String text;
  private int at;
  private int depth;

  JsonText(String text) {
    this.text = text;
  }

  /** All of it, which must be an object. */
  Map<String, @Nullable Object> object() {
    skipSpace();
    if (at == text.length() || text.charAt(at) != '{') {
      throw bad("it is not an object");
    }
    var object = members();
    skipSpace();
    if (at < text.length()) {
      throw bad("something follows its end");
    }
    return object;
  }

  private @Nullable Object value() {
    skipSpace();
    return switch (at < text.length() ? text.charAt(at) : ' ') {
      case '{' -> members();
      case '[' -> array();
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      case 'n' -> word("null", null);
      default -> number();
    };
  }

  private @Nullable Object word(String word, @Nullable Object value) {
    if (!text.startsWith(word, at)) {
      throw bad("a value is expected");
    }
    at += word.length();
    return value;
  }

  private Map<String, @Nullable Object> members() {
    enter();
    var members = new LinkedHashMap<String, @Nullable Object>();
    if (!take('}')) {
      do {
        skipSpace();
        if (at == text.length() || text.charAt(at) != '"') {
          throw bad("a name is expected");
        }
        String name = string();
        expect(':');
        if (members.containsKey(name)) {
          throw bad("the name \"" + name + "\" comes twice");
        }
        members.put(name, value());
      } while (take(','));
      expect('}');
    }
    depth--;
    return members;
  }

  private List<@Nullable Object> array() {
    enter();
    var values = new ArrayList<@Nullable Object>();
    if (!take(']')) {
      do {
        values.add(value());
      } while (take(','));
      expect(']');
    }
    depth--;
    return values;
  }

  private void enter() {
    if (++depth > DEEPEST) {
      throw bad("it is nested deeper than " + DEEPEST);
    }
    at++;
  }

  private String string() {
    at++;
    var string = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') {
        return string.toString();
      }
      if (c < ' ') {
        throw bad("a control character is in a string");
      }
      string.append(c == '\\' ? escaped() : c);
    }
    throw bad("a string does not end");
  }

  private char escaped() {
    char c = at < text.length() ? text.charAt(at++) : ' ';
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> unicode();
      default -> throw bad("there is no such escape");
    };
  }

  private char unicode() {
    int code = 0;
    for (int i = 0; i < 4; i++) {
      char c = at < text.length() ? text.charAt(at++) : ' ';
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        throw bad("four hex digits are expected");
      }
      code = code * 16 + digit;
    }
    return (char) code;
  }

  private Number number() {
    int start = at;
    var _ = takeHere('-');
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
      var _ = takeHere('+') || takeHere('-');
      digits();
    }
    return number(text.substring(start, at), whole);
  }

  /** A whole number that no long can hold is read as a double. */
  private Number number(String digits, boolean whole) {
    if (whole) {
      try {
        return Long.valueOf(digits);
      } catch (NumberFormatException e) {
        // As said.
      }
    }
    double number = Double.parseDouble(digits);
    if (Double.isInfinite(number)) {
      throw bad("a number is too large");
    }
    return number;
  }

  private void digits() {
    int start = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    if (at == start) {
      throw bad("a value is expected");
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
    at += there ? 1 : 0;
    return there;
  }

  private void expect(char c) {
    if (!take(c)) {
      throw bad("'" + c + "' is expected");
    }
  }

  private Problem bad(String problem) {
    return new Problem(
        Problem.Code.BAD_REQUEST,
        "the body is not a JSON object: " + problem + ", at character " + at);
  }
}
