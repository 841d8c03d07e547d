package dev.ebb.json;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object that keeps the order of its members and reads each by the type it must have.
 * Immutable.
 */
public final class JsonObject {
  private static final JsonObject EMPTY = new JsonObject(Map.of());

  private final Map<String, Object> members;

  JsonObject(Map<String, Object> members) {
    this.members = Collections.unmodifiableMap(members);
  }

  public static JsonObject empty() {
    return EMPTY;
  }

  public static JsonObject ofStrings(Map<String, String> strings) {
    return new JsonObject(new LinkedHashMap<>(strings));
  }

  /** Returns a copy with one more member; without a value, returns an unchanged copy. */
  public JsonObject with(String name, @Nullable Object value) {
    if (value == null) {
      return this;
    }
    var more = new LinkedHashMap<>(members);
    more.put(name, value);
    return new JsonObject(more);
  }

  /** Returns a copy without this member. */
  public JsonObject without(String name) {
    var fewer = new LinkedHashMap<>(members);
    fewer.remove(name);
    return new JsonObject(fewer);
  }

  public Map<String, Object> members() {
    return members;
  }

  public boolean has(String name) {
    return members.containsKey(name);
  }

  public String string(String name) throws JsonException {
    return required(name, stringOrNull(name));
  }

  public @Nullable String stringOrNull(String name) throws JsonException {
    return typed(name, String.class, "a string");
  }

  public long number(String name) throws JsonException {
    return required(name, numberOrNull(name));
  }

  public @Nullable Long numberOrNull(String name) throws JsonException {
    return typed(name, Long.class, "a whole number");
  }

  /** Returns the number, or zero if the member is absent. */
  public long count(String name) throws JsonException {
    Long number = numberOrNull(name);
    return number == null ? 0 : number;
  }

  public int integer(String name) throws JsonException {
    return narrow(name, number(name));
  }

  public @Nullable Integer integerOrNull(String name) throws JsonException {
    Long number = numberOrNull(name);
    return number == null ? null : Integer.valueOf(narrow(name, number));
  }

  private static int narrow(String name, long number) throws JsonException {
    if (number != (int) number) {
      throw new JsonException("field \"" + name + "\" is " + number + ", too large");
    }
    return (int) number;
  }

  public @Nullable Double decimalOrNull(String name) throws JsonException {
    Object value = members.get(name);
    if (value instanceof Long number) {
      return number.doubleValue();
    }
    return typed(name, Double.class, "a number");
  }

  /** Returns the boolean, or false if the member is absent. */
  public boolean isTrue(String name) throws JsonException {
    return Boolean.TRUE.equals(typed(name, Boolean.class, "true or false"));
  }

  public Duration millis(String name) throws JsonException {
    return Duration.ofMillis(number(name));
  }

  public @Nullable Duration millisOrNull(String name) throws JsonException {
    Long number = numberOrNull(name);
    return number == null ? null : Duration.ofMillis(number);
  }

  public Instant instant(String name) throws JsonException {
    return required(name, instantOrNull(name));
  }

  public @Nullable Instant instantOrNull(String name) throws JsonException {
    String text = stringOrNull(name);
    try {
      return text == null ? null : Instant.parse(text);
    } catch (DateTimeException e) {
      throw new JsonException("field \"" + name + "\" is \"" + text + "\", not an instant");
    }
  }

  public JsonObject object(String name) throws JsonException {
    return required(name, objectOrNull(name));
  }

  public @Nullable JsonObject objectOrNull(String name) throws JsonException {
    return typed(name, JsonObject.class, "an object");
  }

  /** Returns the objects of a list; empty if the member is absent. */
  public List<JsonObject> objects(String name) throws JsonException {
    return list(name, JsonObject.class, "an object");
  }

  /** Returns the strings of a list; empty if the member is absent. */
  public List<String> strings(String name) throws JsonException {
    return list(name, String.class, "a string");
  }

  /** Returns the whole numbers of a list; empty if the member is absent. */
  public List<Long> numbers(String name) throws JsonException {
    return list(name, Long.class, "a whole number");
  }

  /** Returns the members of an object of strings; empty if the member is absent. */
  public Map<String, String> stringMap(String name) throws JsonException {
    return map(name, String.class, "a string");
  }

  /** Returns the members of an object of whole numbers; empty if the member is absent. */
  public Map<String, Long> numberMap(String name) throws JsonException {
    return map(name, Long.class, "a whole number");
  }

  private <T> List<T> list(String name, Class<T> type, String words) throws JsonException {
    List<?> values = typed(name, List.class, "a list");
    if (values == null) {
      return List.of();
    }
    var list = new ArrayList<T>(values.size());
    for (Object value : values) {
      list.add(cast(name, value, type, words));
    }
    return Collections.unmodifiableList(list);
  }

  private <T> Map<String, T> map(String name, Class<T> type, String words) throws JsonException {
    JsonObject object = objectOrNull(name);
    if (object == null) {
      return Map.of();
    }
    var map = new LinkedHashMap<String, T>();
    for (var member : object.members.entrySet()) {
      map.put(member.getKey(), cast(name, member.getValue(), type, words));
    }
    return Collections.unmodifiableMap(map);
  }

  private <T> @Nullable T typed(String name, Class<T> type, String words) throws JsonException {
    Object value = members.get(name);
    return value == null || value == JsonNull.NULL ? null : cast(name, value, type, words);
  }

  private static <T> T cast(String name, Object value, Class<T> type, String words)
      throws JsonException {
    if (type.isInstance(value)) {
      return type.cast(value);
    }
    throw new JsonException(
        "field \"" + name + "\" holds " + kind(value) + " where " + words + " belongs");
  }

  private static <T> T required(String name, @Nullable T value) throws JsonException {
    if (value == null) {
      throw new JsonException("field \"" + name + "\" is missing");
    }
    return value;
  }

  static String kind(Object value) {
    if (value instanceof JsonObject) {
      return "an object";
    }
    if (value instanceof List) {
      return "a list";
    }
    return value instanceof String ? "a string" : String.valueOf(value);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof JsonObject object && members.equals(object.members);
  }

  @Override
  public int hashCode() {
    return members.hashCode();
  }

  @Override
  public String toString() {
    return Json.write(this);
  }
}
