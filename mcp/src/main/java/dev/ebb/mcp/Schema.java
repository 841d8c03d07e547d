package dev.ebb.mcp;

import static java.util.Objects.requireNonNull;

import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.ObjectSchema;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The JSON Schema of tools. */
final class Schema {
  private final Map<String, Object> properties = new LinkedHashMap<>();
  private final List<String> required = new ArrayList<>();

  private Schema() {}

  /** Returns the schema of a structured result. */
  static Map<String, Object> of(ObjectSchema<?> result) {
    return result.describe(Components.inline());
  }

  /** Returns the schema of a result of either kind: members that both always have are required. */
  static Map<String, Object> either(ObjectSchema<?> one, ObjectSchema<?> other) {
    Map<String, Object> first = of(one);
    Map<String, Object> second = of(other);
    var properties = new LinkedHashMap<>(map(second.get("properties")));
    map(first.get("properties"))
        .forEach((name, schema) -> properties.merge(name, schema, Schema::anyOf));
    var required = new ArrayList<>(list(first.get("required")));
    required.retainAll(list(second.get("required")));
    return Reply.object("type", "object", "properties", properties, "required", required);
  }

  private static Object anyOf(Object one, Object other) {
    return one.equals(other) ? one : Map.of("anyOf", List.of(one, other));
  }

  @SuppressWarnings("unchecked") // an object schema has properties
  private static Map<String, Object> map(@Nullable Object value) {
    return (Map<String, Object>) requireNonNull(value);
  }

  private static List<?> list(@Nullable Object value) {
    return (List<?>) requireNonNull(value);
  }

  static Schema object() {
    return new Schema();
  }

  /** A required member. */
  Schema needs(String name, Map<String, Object> schema) {
    required.add(name);
    return has(name, schema);
  }

  /** An optional member. */
  Schema has(String name, Map<String, Object> schema) {
    properties.put(name, schema);
    return this;
  }

  Map<String, Object> build() {
    return Reply.object(
        "type",
        "object",
        "properties",
        properties,
        "required",
        List.copyOf(required),
        "additionalProperties",
        false);
  }

  static Map<String, Object> text(String description) {
    return Reply.object("type", "string", "description", description);
  }

  static Map<String, Object> oneOf(String description, List<String> words) {
    return Reply.object("type", "string", "enum", words, "description", description);
  }

  static Map<String, Object> whole(String description, long least, long most) {
    return Reply.object(
        "type", "integer", "minimum", least, "maximum", most, "description", description);
  }

  static Map<String, Object> whole(String description) {
    return Reply.object("type", "integer", "description", description);
  }

  static Map<String, Object> number(String description) {
    return Reply.object("type", "number", "exclusiveMinimum", 0, "description", description);
  }

  static Map<String, Object> flag(String description) {
    return Reply.object("type", "boolean", "description", description);
  }

  static Map<String, Object> texts(String description) {
    return Reply.object(
        "type", "array", "items", Map.of("type", "string"), "description", description);
  }

  static Map<String, Object> list(String description, Map<String, Object> items) {
    return Reply.object("type", "array", "items", items, "description", description);
  }

  static Map<String, Object> textMap(String description) {
    return Reply.object(
        "type",
        "object",
        "additionalProperties",
        Map.of("type", "string"),
        "description",
        description);
  }
}
