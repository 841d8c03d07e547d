package dev.ebb.server.schema;

import java.util.LinkedHashMap;
import java.util.Map;

/** The description of a JSON value, as JSON Schema has it. */
public interface Schema {
  /** Returns it as an object of JSON Schema, or a reference to it in {@code components}. */
  Map<String, Object> describe(Components components);

  /** Adds a description for one use. */
  static Schema described(Schema schema, String text) {
    return components -> with(schema.describe(components), "description", text);
  }

  /** Adds a keyword of JSON Schema. */
  static Map<String, Object> with(Map<String, Object> schema, String keyword, Object value) {
    var more = new LinkedHashMap<>(schema);
    more.put(keyword, value);
    return more;
  }
}
