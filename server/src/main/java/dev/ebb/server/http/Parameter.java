package dev.ebb.server.http;

import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Values;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A parameter of a request: in its path, in its query, or in a header.
 *
 * @param isRequired a request without it is refused
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record Parameter<T>(
    String name,
    Place place,
    Schema schema,
    boolean isRequired,
    String description,
    Reader<T> reader) {
  /** The place, as OpenAPI names it. */
  public enum Place {
    PATH("path"),
    QUERY("query"),
    HEADER("header");

    private final String word;

    Place(String word) {
      this.word = word;
    }

    public String wireName() {
      return word;
    }
  }

  /** Reads the parameter of that name; refuses an invalid value. */
  public interface Reader<T> {
    T read(Exchange exchange, String name);
  }

  /** Adds a description. */
  public Parameter<T> described(String text) {
    return new Parameter<>(name, place, schema, isRequired, text, reader);
  }

  public Parameter<T> required() {
    return new Parameter<>(name, place, schema, true, description, reader);
  }

  /** Adds a constraint, as JSON Schema words it, that the reader or its caller checks. */
  public Parameter<T> with(String keyword, Object value) {
    Schema plain = schema;
    return new Parameter<>(
        name,
        place,
        components -> Schema.with(plain.describe(components), keyword, value),
        isRequired,
        description,
        reader);
  }

  // --- kinds ---

  private static <T> Parameter<T> query(String name, Schema schema, Reader<T> reader) {
    return new Parameter<>(name, Place.QUERY, schema, false, "", reader);
  }

  /** A part of the path, by its name in the route. */
  public static Parameter<String> path(String name) {
    return new Parameter<>(name, Place.PATH, Values.TEXT, true, "", Exchange::path);
  }

  /** A part of the path that is a number; any other text is answered 404. */
  public static Parameter<String> numberInPath(String name) {
    return new Parameter<>(name, Place.PATH, Values.COUNT, true, "", Exchange::path);
  }

  public static Parameter<Optional<String>> header(String name) {
    return new Parameter<>(name, Place.HEADER, Values.TEXT, false, "", Exchange::header);
  }

  public static Parameter<Optional<String>> text(String name) {
    return query(name, Values.TEXT, Exchange::query);
  }

  public static Parameter<String> requiredText(String name) {
    return new Parameter<>(name, Place.QUERY, Values.TEXT, true, "", Exchange::required);
  }

  /** A parameter that may repeat. */
  public static Parameter<List<String>> texts(String name) {
    return query(name, Values.TEXTS, Exchange::queries);
  }

  public static Parameter<Boolean> flag(String name, boolean otherwise) {
    Reader<Boolean> reader = (exchange, word) -> exchange.flag(word, otherwise);
    return query(name, Values.FLAG, reader).with("default", otherwise);
  }

  /** A whole number that is not negative. */
  public static Parameter<Long> count(String name, long otherwise, long most) {
    Reader<Long> reader = (exchange, word) -> exchange.number(word, otherwise, most);
    Parameter<Long> count = query(name, Values.COUNT, reader);
    count = otherwise == most ? count : count.with("default", otherwise);
    return most == Long.MAX_VALUE ? count : count.with("maximum", most);
  }

  public static Parameter<Duration> millis(String name, Duration otherwise) {
    return query(name, Values.COUNT, (exchange, word) -> exchange.millis(word, otherwise));
  }
}
