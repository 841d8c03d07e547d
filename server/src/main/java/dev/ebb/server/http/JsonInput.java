package dev.ebb.server.http;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a JSON text as RFC 8259 defines it: refuses malformed input, duplicate names and texts that
 * are too large. Half a surrogate pair may stand for a byte, see BoxText.
 */
final class JsonInput {
  /** SAFETY: each level of nesting takes some of the thread's stack. */
  private static final int DEEPEST = 32;

  /** SAFETY: a value of two bytes takes some twenty in memory. */
  private static final int MOST_VALUES = 100_000;

  private static final int LONGEST_NUMBER = 40;

  private final byte[] text;
  private int at;
  private int depth;
  private int values;

  /** Where to yield next, see {@link Turns}. */
  private int turnAt = Turns.LENGTH;

  private JsonInput(byte[] text) {
    this.text = text;
  }

  /**
   * Reads an object; values are maps, lists, strings, longs, doubles, booleans and null. An empty
   * text is an empty object.
   */
  static Map<String, @Nullable Object> object(byte[] text) {
    var input = new JsonInput(text);
    input.skipSpace();
    if (input.at == text.length) {
      return Map.of();
    }
    input.require(input.next() == '{', "an object");
    Map<String, @Nullable Object> object = input.object();
    input.skipSpace();
    input.require(input.at == text.length, "the end");
    return object;
  }

  private @Nullable Object value() {
    if (++values > MOST_VALUES) {
      throw bad("there are more than " + MOST_VALUES + " values in it");
    }
    giveWay();
    skipSpace();
    return switch (next()) {
      case '{' -> object();
      case '[' -> array();
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      case 'n' -> word("null", null);
      default -> number();
    };
  }

  private @Nullable Object word(String word, @Nullable Object value) {
    for (int i = 0; i < word.length(); i++) {
      require(next() == word.charAt(i), word);
      at++;
    }
    return value;
  }

  private Map<String, @Nullable Object> object() {
    enter();
    var members = new LinkedHashMap<String, @Nullable Object>();
    if (!take('}')) {
      do {
        skipSpace();
        require(next() == '"', "a name");
        String name = string();
        require(take(':'), "a colon");
        if (members.containsKey(name)) {
          throw bad("the field \"" + name + "\" comes twice");
        }
        members.put(name, value());
      } while (take(','));
      require(take('}'), "a comma or a brace");
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
      require(take(']'), "a comma or a bracket");
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
    int start = at;
    StringBuilder before = null;
    for (skipPlain(); next() != '"'; skipPlain()) {
      require(next() == '\\', "no control character, nor the end, in a string");
      before = before == null ? new StringBuilder() : before;
      before.append(plain(start)).append(escaped());
      at++;
      start = at;
    }
    String rest = plain(start);
    at++;
    return before == null ? rest : before.append(rest).toString();
  }

  /** Invalid UTF-8 would become U+FFFD, so only a text that contains one is decoded strictly. */
  private String plain(int start) {
    String plain = new String(text, start, at - start, StandardCharsets.UTF_8);
    return plain.indexOf('\uFFFD') < 0 ? plain : strictly(start);
  }

  private String strictly(int start) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(text, start, at - start))
          .toString();
    } catch (CharacterCodingException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, "the body is not UTF-8");
    }
  }

  /** Moves to the next character of a string that is not plain text, or to the end. */
  private void skipPlain() {
    boolean isPlain = true;
    while (isPlain && at < text.length) {
      giveWay();
      int stop = Math.min(text.length, turnAt);
      int i = at;
      while (i < stop && isPlainText(text[i])) {
        i++;
      }
      isPlain = i == stop;
      at = i;
    }
  }

  /** The bytes of all but ASCII are negative. */
  private static boolean isPlainText(byte c) {
    return (c >= ' ' || c < 0) && c != '"' && c != '\\';
  }

  private char escaped() {
    at++;
    return switch (next()) {
      case '"', '\\', '/' -> next();
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
      at++;
      int digit = "0123456789abcdef".indexOf(Character.toLowerCase(next()));
      require(digit >= 0, "four hex digits");
      code = code << 4 | digit;
    }
    return (char) code;
  }

  private Object number() {
    int start = at;
    takeHere("-");
    if (!takeHere("0")) {
      digits();
    }
    boolean whole = true;
    if (takeHere(".")) {
      whole = false;
      digits();
    }
    if (takeHere("eE")) {
      whole = false;
      takeHere("+-");
      digits();
    }
    return number(new String(text, start, at - start, StandardCharsets.US_ASCII), whole);
  }

  private Object number(String word, boolean whole) {
    try {
      if (whole) {
        return Long.valueOf(word);
      }
      double number = word.length() > LONGEST_NUMBER ? Double.NaN : Double.parseDouble(word);
      if (Double.isFinite(number)) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Below.
    }
    throw bad("the number is too large, or too long");
  }

  private void digits() {
    int start = at;
    while (next() >= '0' && next() <= '9') {
      at++;
    }
    require(at > start, "a value");
  }

  /** Returns NUL at the end. A NUL in the text is valid nowhere, so it needs no other value. */
  private char next() {
    return at < text.length ? (char) (text[at] & 0xff) : '\0';
  }

  private void skipSpace() {
    while (" \t\r\n".indexOf(next()) >= 0) {
      at++;
      giveWay();
    }
  }

  private void giveWay() {
    if (at >= turnAt) {
      turnAt = at + Turns.LENGTH;
      Turns.giveWay();
    }
  }

  private boolean take(char c) {
    skipSpace();
    return takeHere(String.valueOf(c));
  }

  private boolean takeHere(String any) {
    boolean there = any.indexOf(next()) >= 0;
    at += there ? 1 : 0;
    return there;
  }

  private void require(boolean condition, String wanted) {
    if (!condition) {
      throw bad("expected " + wanted);
    }
  }

  private Problem bad(String problem) {
    return new Problem(
        Problem.Code.BAD_REQUEST, "the body is no JSON object; at " + at + ": " + problem);
  }
}
