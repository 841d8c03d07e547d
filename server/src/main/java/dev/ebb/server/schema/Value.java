package dev.ebb.server.schema;

import java.util.Map;
import java.util.function.Function;

/** A type of value in a document: its schema, and how a value is written. */
public interface Value<V> extends Schema {
  /**
   * Returns a form that the JSON writer accepts: a map, list, string, number, boolean, or output.
   */
  Object write(V value);

  static <V> Value<V> of(Schema schema, Function<? super V, Object> writer) {
    return new Value<>() {
      @Override
      public Map<String, Object> describe(Components components) {
        return schema.describe(components);
      }

      @Override
      public Object write(V value) {
        return writer.apply(value);
      }
    };
  }

  default Value<V> described(String text) {
    return of(Schema.described(this, text), this::write);
  }
}
