package dev.ebb.server.http;

import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Values;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A field of a request: its description, and how it is read.
 *
 * @param isRequired a request without it is refused
 */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public record Field<T>(String name, Schema schema, boolean isRequired, Reader<T> reader) {
  /** Reads the field of that name; refuses an invalid value. */
  public interface Reader<T> {
    T read(Fields fields, String name);
  }

  /** Adds a description. */
  public Field<T> described(String text) {
    return new Field<>(name, Schema.described(schema, text), isRequired, reader);
  }

  /** Adds a constraint, as JSON Schema words it, that the reader or its caller checks. */
  public Field<T> with(String keyword, Object value) {
    Schema plain = schema;
    return new Field<>(
        name,
        components -> Schema.with(plain.describe(components), keyword, value),
        isRequired,
        reader);
  }

  public Field<T> required() {
    return new Field<>(name, schema, true, reader);
  }

  // --- kinds ---

  public static <T> Field<T> of(String name, Schema schema, Reader<T> reader) {
    return new Field<>(name, schema, false, reader);
  }

  public static Field<Optional<String>> text(String name) {
    return of(name, Values.TEXT, Fields::text);
  }

  public static Field<String> requiredText(String name) {
    return of(name, Values.TEXT, (fields, word) -> fields.text(word).orElseThrow()).required();
  }

  public static Field<List<String>> texts(String name) {
    return of(name, Values.TEXTS, Fields::texts);
  }

  public static Field<Map<String, String>> textMap(String name) {
    return of(name, Values.TEXT_MAP, Fields::textMap);
  }

  public static Field<Boolean> flag(String name, boolean otherwise) {
    return of(name, Values.FLAG, (Fields fields, String word) -> fields.flag(word, otherwise))
        .with("default", otherwise);
  }

  /** A whole number within bounds. */
  public static Field<OptionalLong> whole(String name, long least, long most) {
    Schema schema = _ -> Values.keywords("type", "integer", "format", "int64", "minimum", least);
    Field<OptionalLong> field =
        of(name, schema, (fields, word) -> fields.number(word, least, most));
    return most == Long.MAX_VALUE ? field : field.with("maximum", most);
  }

  /** A number of any sign; its reader checks the range. */
  public static Field<Optional<Double>> number(String name) {
    return of(name, Values.NUMBER, Fields::fraction);
  }

  public static Field<Optional<Duration>> millis(String name) {
    return of(name, Values.COUNT, Fields::millis).with("maximum", Fields.LONGEST_MILLIS);
  }

  /** Bytes as text or base64. */
  public static Field<Optional<byte[]>> bytes(String name) {
    return of(name, Output.VALUE, Fields::bytes);
  }

  public static Field<byte[]> requiredBytes(String name) {
    return of(name, Output.VALUE, (fields, word) -> fields.bytes(word).orElseThrow()).required();
  }

  /** An optional object with these fields. */
  public static Field<Optional<Fields>> object(String name, RequestSchema schema) {
    return of(name, schema, (fields, word) -> fields.object(word).map(each -> each.as(schema)));
  }

  /** An object with these fields; an absent object counts as empty. */
  public static Field<Fields> part(String name, RequestSchema schema) {
    return of(
        name,
        schema,
        (fields, word) -> fields.object(word).map(each -> each.as(schema)).orElseGet(Fields::none));
  }

  public static Field<List<Fields>> objects(String name, RequestSchema schema) {
    return of(
        name,
        components -> Values.keywords("type", "array", "items", schema.describe(components)),
        (fields, word) -> fields.objects(word).stream().map(each -> each.as(schema)).toList());
  }
}
