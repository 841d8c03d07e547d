package dev.ebb.mcp;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON Schema, as far as tools need it. */
final class Schema {
  private final Map<String, Object> properties = new LinkedHashMap<>();
  private final List<String> required = new ArrayList<>();

  private Schema() {}

  static Schema object() {
    return new Schema();
  }

  /** One that must be there. */
  Schema needs(String name, Map<String, Object> schema) {
    required.add(name);
    return has(name, schema);
  }

  /** One that may be there. */
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
