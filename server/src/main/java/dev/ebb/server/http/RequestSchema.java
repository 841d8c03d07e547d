package dev.ebb.server.http;

import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Values;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * An object in a request, with all its fields. {@link Fields} reads no other field, so the
 * description is complete.
 */
public final class RequestSchema implements Schema {
  private final String name;
  private final Map<String, Field<?>> fields = new LinkedHashMap<>();

  private RequestSchema(String name, Stream<Field<?>> all) {
    this.name = name;
    all.forEach(
        field -> {
          if (fields.put(field.name(), field) != null) {
            throw new IllegalArgumentException("two fields are named " + field.name());
          }
        });
  }

  /** Makes an object that others refer to by its name. */
  public static RequestSchema named(String name, Field<?>... fields) {
    return new RequestSchema(name, Stream.of(fields));
  }

  /** Makes an object that is described where it is used. */
  public static RequestSchema inline(Field<?>... fields) {
    return named("", fields);
  }

  /** Returns a kind of this request in which these fields are unknown. */
  public RequestSchema without(Field<?>... unknown) {
    Set<Field<?>> left = Set.of(unknown);
    return new RequestSchema(name, fields.values().stream().filter(each -> !left.contains(each)));
  }

  Set<String> names() {
    return fields.keySet();
  }

  boolean has(Field<?> field) {
    return field.equals(fields.get(field.name()));
  }

  @Override
  public Map<String, Object> describe(Components components) {
    return name.isEmpty()
        ? whole(components)
        : components.refer(name, this, () -> whole(components));
  }

  private Map<String, Object> whole(Components components) {
    var properties = new LinkedHashMap<String, Object>();
    fields.forEach((word, field) -> properties.put(word, field.schema().describe(components)));
    List<String> required =
        fields.values().stream().filter(Field::isRequired).map(Field::name).toList();
    Map<String, Object> schema =
        Values.keywords("type", "object", "properties", properties, "additionalProperties", false);
    return required.isEmpty() ? schema : Schema.with(schema, "required", required);
  }
}
