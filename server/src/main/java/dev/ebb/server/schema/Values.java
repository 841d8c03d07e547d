package dev.ebb.server.schema;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/** The types of values in documents. */
public final class Values {
  public static final Value<String> TEXT = plain(Map.of("type", "string"));
  public static final Value<Boolean> FLAG = plain(Map.of("type", "boolean"));
  public static final Value<Number> INTEGER = plain(Map.of("type", "integer"));
  public static final Value<Number> NUMBER = plain(Map.of("type", "number"));

  /** A whole number that is not negative. */
  public static final Value<Number> COUNT = plain(count());

  public static final Value<Duration> MILLIS = Value.of(COUNT, Duration::toMillis);

  public static final Value<Instant> TIME =
      Value.of(_ -> keywords("type", "string", "format", "date-time"), Instant::toString);

  public static final Value<Iterable<String>> TEXTS = list(TEXT);
  public static final Value<Map<String, String>> TEXT_MAP = map(TEXT);

  private Values() {}

  private static Map<String, Object> count() {
    return keywords("type", "integer", "format", "int64", "minimum", 0);
  }

  /** Keywords of JSON Schema with their values. */
  public static Map<String, Object> keywords(Object... pairs) {
    var object = new LinkedHashMap<String, Object>();
    for (int i = 0; i < pairs.length; i += 2) {
      object.put((String) pairs[i], pairs[i + 1]);
    }
    return object;
  }

  /** Returns a type whose values are written unchanged. */
  public static <V> Value<V> plain(Map<String, Object> schema) {
    return Value.of(_ -> schema, value -> value);
  }

  /** Returns a type for one of these strings. */
  public static Value<String> words(String... words) {
    return plain(keywords("type", "string", "enum", List.of(words)));
  }

  /** Returns a type for one of these constants, written by its wire name. */
  public static <E> Value<E> words(E[] constants, Function<E, String> word) {
    List<String> words = Stream.of(constants).map(word).toList();
    return Value.of(_ -> keywords("type", "string", "enum", words), word::apply);
  }

  /**
   * Returns a list type. A collection is written at once, any other source one by one while it is
   * sent.
   */
  public static <V> Value<Iterable<V>> list(Value<V> element) {
    return Value.of(
        components -> keywords("type", "array", "items", element.describe(components)),
        values -> elements(element, values));
  }

  private static <V> Object elements(Value<V> element, Iterable<V> values) {
    if (values instanceof Collection<V> all) {
      var written = new ArrayList<Object>(all.size());
      all.forEach(each -> written.add(element.write(each)));
      return written;
    }
    return (Iterable<Object>) () -> new Written<>(element, values.iterator());
  }

  private record Written<V>(Value<V> element, Iterator<V> values) implements Iterator<Object> {
    @Override
    public boolean hasNext() {
      return values.hasNext();
    }

    @Override
    public Object next() {
      return element.write(values.next());
    }
  }

  /** Returns an object type with any names and values of one type. */
  public static <V> Value<Map<String, V>> map(Value<V> value) {
    return Value.of(
        components ->
            keywords("type", "object", "additionalProperties", value.describe(components)),
        entries -> {
          var written = new LinkedHashMap<String, Object>();
          entries.forEach((name, each) -> written.put(name, value.write(each)));
          return written;
        });
  }
}
