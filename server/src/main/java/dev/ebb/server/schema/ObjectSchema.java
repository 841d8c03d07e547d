package dev.ebb.server.schema;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * An object in an answer: each member is declared once, with its name, its value, and where the
 * value comes from. A member that is always written is required. Built as a constant; thread-safe
 * from then on.
 */
public final class ObjectSchema<T> implements Value<T> {
  private final String name;
  private final String description;
  private final List<Member<T>> members = new ArrayList<>();
  private final List<Part<T>> parts = new ArrayList<>();

  private record Member<T>(String name, Schema schema, boolean isRequired, Writing<T> writing) {}

  private record Part<T>(ObjectSchema<?> schema, Writing<T> writing) {}

  private interface Writing<T> {
    void write(T from, Map<String, Object> to);
  }

  private ObjectSchema(String name, String description) {
    this.name = name;
    this.description = description;
  }

  /** Makes an object that others refer to by its name. */
  public static <T> ObjectSchema<T> named(String name, String description) {
    return new ObjectSchema<>(name, description);
  }

  public static <T> ObjectSchema<T> named(String name) {
    return named(name, "");
  }

  /** Makes an object that is described where it is used. */
  public static <T> ObjectSchema<T> inline() {
    return named("");
  }

  /** Adds a member that is always there. */
  public <V> ObjectSchema<T> has(
      String member, Value<V> value, Function<? super T, ? extends V> from) {
    members.add(
        new Member<>(
            member, value, true, (source, to) -> to.put(member, value.write(from.apply(source)))));
    return this;
  }

  /** Adds a member that may be absent. */
  public <V> ObjectSchema<T> may(
      String member, Value<V> value, Function<? super T, ? extends Optional<? extends V>> from) {
    members.add(
        new Member<>(
            member,
            value,
            false,
            (source, to) ->
                from.apply(source).ifPresent(present -> to.put(member, value.write(present)))));
    return this;
  }

  /** Adds all members of another object. */
  public <U> ObjectSchema<T> includes(ObjectSchema<U> part, Function<? super T, ? extends U> from) {
    parts.add(new Part<>(part, (source, to) -> part.fill(from.apply(source), to)));
    return this;
  }

  /** Returns an object with some of its own members, for shorter answers. */
  public ObjectSchema<T> only(String... names) {
    var part = new ObjectSchema<T>("", "");
    for (String each : names) {
      part.members.add(
          members.stream()
              .filter(member -> member.name().equals(each))
              .findFirst()
              .orElseThrow(
                  () -> new IllegalArgumentException(name + " has no member \"" + each + "\"")));
    }
    return part;
  }

  /** Includes an object that was written before, as a part of a larger one. */
  public ObjectSchema<Map<String, Object>> written() {
    var written = new ObjectSchema<Map<String, Object>>(name, description);
    written.parts.add(new Part<>(this, (source, to) -> to.putAll(source)));
    return written;
  }

  @Override
  public Map<String, Object> write(T value) {
    var document = new LinkedHashMap<String, Object>();
    fill(value, document);
    return document;
  }

  private void fill(T value, Map<String, Object> document) {
    parts.forEach(part -> part.writing().write(value, document));
    members.forEach(member -> member.writing().write(value, document));
  }

  @Override
  public Map<String, Object> describe(Components components) {
    if (members.isEmpty() && parts.size() == 1) {
      return parts.getFirst().schema().describe(components);
    }
    return name.isEmpty()
        ? whole(components)
        : components.refer(name, this, () -> whole(components));
  }

  private Map<String, Object> whole(Components components) {
    var named = parts.stream().filter(part -> !part.schema().isPlain(components)).toList();
    Map<String, Object> own = own(components);
    if (!named.isEmpty()) {
      var all = new ArrayList<Object>();
      named.forEach(part -> all.add(part.schema().describe(components)));
      all.add(own);
      own = Values.keywords("allOf", all);
    }
    return description.isEmpty() ? own : Schema.with(own, "description", description);
  }

  /** No other place refers to it, so it is described inline. */
  private boolean isPlain(Components components) {
    return name.isEmpty() || components.isInline();
  }

  private Map<String, Object> own(Components components) {
    var properties = new LinkedHashMap<String, Object>();
    var required = new ArrayList<String>();
    add(components, properties, required);
    Map<String, Object> schema = Values.keywords("type", "object", "properties", properties);
    return required.isEmpty() ? schema : Schema.with(schema, "required", required);
  }

  private void add(Components components, Map<String, Object> properties, List<String> required) {
    for (Part<T> part : parts) {
      if (part.schema().isPlain(components)) {
        part.schema().add(components, properties, required);
      }
    }
    for (Member<T> member : members) {
      properties.put(member.name(), member.schema().describe(components));
      if (member.isRequired()) {
        required.add(member.name());
      }
    }
  }
}
