package dev.ebb.server.schema;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The named schemas of one document. Not thread-safe. */
public final class Components {
  private final boolean isInline;
  private final Map<String, Object> schemas = new TreeMap<>();
  private final Map<String, Schema> owners = new HashMap<>();

  private Components(boolean isInline) {
    this.isInline = isInline;
  }

  public Components() {
    this(false);
  }

  /**
   * Makes components for a document without references: each schema is described where it is used.
   */
  public static Components inline() {
    return new Components(true);
  }

  boolean isInline() {
    return isInline;
  }

  /** Returns a reference to {@code schema}, which is described once under its name. */
  public Map<String, Object> refer(
      String name, Schema schema, Supplier<Map<String, Object>> description) {
    if (isInline) {
      return description.get();
    }
    Schema before = owners.putIfAbsent(name, schema);
    if (before == null) {
      schemas.put(name, description.get());
    } else if (!before.equals(schema)) {
      throw new IllegalStateException("two schemas are named " + name);
    }
    return Map.of("$ref", "#/components/schemas/" + name);
  }

  /** Returns all referenced schemas, by name. */
  public Map<String, Object> all() {
    return schemas;
  }
}
