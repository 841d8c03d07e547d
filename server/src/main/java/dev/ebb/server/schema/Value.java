package dev.ebb.server.schema;

import java.util.Map;
import java.util.function.Function;

/** A value in a document: what it looks like, and how one is written. */
public interface Value<V> extends Schema {
  /** As the writer of JSON takes it: a map, list, string, number, boolean, or output. */
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
