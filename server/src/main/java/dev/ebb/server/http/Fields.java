package dev.ebb.server.http;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a JSON object in a request. After reading its fields, the reader must refuse
 * unknown ones. With a {@link RequestSchema} exactly the fields that it describes are known.
 */
public final class Fields {
  /** The largest integer up to which doubles are exact. */
  private static final double EXACT = 1L << 53;

  public static final long LONGEST_MILLIS = Duration.ofDays(3650).toMillis();

  private final String where;
  private final Map<String, @Nullable Object> values;
  private final Set<String> known;
  private final Optional<RequestSchema> schema;

  private Fields(String where, Map<String, @Nullable Object> values) {
    this(where, values, new HashSet<>(), Optional.empty());
  }

  private Fields(
      String where,
      Map<String, @Nullable Object> values,
      Set<String> known,
      Optional<RequestSchema> schema) {
    this.where = where;
    this.values = values;
    this.known = known;
    this.schema = schema;
  }

  /** Returns these fields with those of {@code form} as the known ones. */
  public Fields as(RequestSchema form) {
    return new Fields(where, values, known, Optional.of(form));
  }

  /** Returns the value of a field, which must be in the schema if there is one. */
  public <T> T get(Field<T> field) {
    if (schema.isPresent() && !schema.get().has(field)) {
      throw new IllegalArgumentException("\"" + where + field.name() + "\" is in no schema");
    }
    if (field.isRequired() && values.get(field.name()) == null) {
      throw bad("\"" + where + field.name() + "\" is missing");
    }
    return field.reader().read(this, field.name());
  }

  /** Uses an object that was parsed elsewhere; its numbers are longs or doubles. */
  public static Fields of(Map<String, @Nullable Object> values) {
    return new Fields("", values);
  }

  public static Fields none() {
    return new Fields("", Map.of());
  }

  public static Fields parse(byte[] body) {
    return new Fields("", JsonInput.object(body));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }

  private Problem wrong(String name, String wanted) {
    return bad("\"" + where + name + "\" must be " + wanted);
  }

  private @Nullable Object take(String name) {
    known.add(name);
    return values.get(name);
  }

  /** Refuses unknown fields, which would otherwise be ignored silently. */
  public void end() {
    if (schema.isPresent() && !known.containsAll(schema.get().names())) {
      throw new IllegalStateException(schema.get().names() + " are described, " + known + " read");
    }
    for (String name : values.keySet()) {
      if (!known.contains(name)) {
        throw bad(
            "unknown field \""
                + where
                + name
                + "\"; known here: "
                + String.join(", ", new TreeSet<>(known)));
      }
    }
  }

  public Optional<String> text(String name) {
    return Optional.ofNullable(text(name, take(name)));
  }

  private @Nullable String text(String name, @Nullable Object value) {
    if (value == null || value instanceof String) {
      return (String) value;
    }
    throw wrong(name, "a string");
  }

  public boolean flag(String name) {
    return flag(name, false);
  }

  public boolean flag(String name, boolean otherwise) {
    Object value = take(name);
    if (value == null || value instanceof Boolean) {
      return value == null ? otherwise : (Boolean) value;
    }
    throw wrong(name, "true or false");
  }

  public OptionalLong number(String name, long least, long most) {
    Object value = take(name);
    if (value == null) {
      return OptionalLong.empty();
    }
    boolean isWhole =
        value instanceof Long
            || (value instanceof Double d && d == Math.rint(d) && Math.abs(d) <= EXACT);
    if (isWhole) {
      long whole = ((Number) value).longValue();
      if (whole >= least && whole <= most) {
        return OptionalLong.of(whole);
      }
    }
    throw wrong(name, "a whole number from " + least + " to " + most);
  }

  public Optional<Double> fraction(String name) {
    Object value = take(name);
    if (value == null) {
      return Optional.empty();
    }
    if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
      return Optional.of(number.doubleValue());
    }
    throw wrong(name, "a number");
  }

  public Optional<Duration> millis(String name) {
    var millis = number(name, 0, LONGEST_MILLIS);
    return millis.isPresent()
        ? Optional.of(Duration.ofMillis(millis.getAsLong()))
        : Optional.empty();
  }

  // --- limits ---

  /**
   * Returns the requested value, within the cap; by default the default, or the cap if that is
   * less.
   */
  public long limit(Field<OptionalLong> field, long otherwise, long cap) {
    OptionalLong asked = get(field);
    if (asked.orElse(0) > cap) {
      throw above(field.name(), Long.toString(asked.getAsLong()), Long.toString(cap));
    }
    return asked.orElse(Math.min(otherwise, cap));
  }

  public double limit(Field<Optional<Double>> field, double most, double otherwise, double cap) {
    Optional<Double> asked = get(field);
    if (asked.orElse(0.0) > most) {
      throw wrong(field.name(), "a number up to " + most);
    }
    if (asked.orElse(0.0) > cap) {
      throw above(field.name(), asked.get().toString(), Double.toString(cap));
    }
    return asked.orElse(Math.min(otherwise, cap));
  }

  /** A time within the cap, of which zero is endless. */
  public Duration limit(Field<Optional<Duration>> field, Duration otherwise, Duration cap) {
    return limit(field.name(), get(field), otherwise, cap);
  }

  /** A time within the cap, of which zero is endless. */
  public Duration limit(String name, Duration otherwise, Duration cap) {
    return limit(name, millis(name), otherwise, cap);
  }

  private Duration limit(String name, Optional<Duration> asked, Duration otherwise, Duration cap) {
    Duration wanted = asked.orElse(otherwise);
    if (cap.isZero() || (!wanted.isZero() && wanted.compareTo(cap) <= 0)) {
      return wanted;
    }
    if (asked.isPresent()) {
      String none = wanted.isZero() ? "0, none" : Long.toString(wanted.toMillis());
      throw above(name, none, Long.toString(cap.toMillis()));
    }
    return cap;
  }

  private Problem above(String name, String asked, String cap) {
    return new Problem(
        Problem.Code.FORBIDDEN,
        "\"%s%s\" is %s, but this server allows %s at most".formatted(where, name, asked, cap));
  }

  public Optional<Fields> object(String name) {
    return Optional.ofNullable(take(name)).map(value -> object(name, value));
  }

  /** Returns a field if it is an object; the caller must handle other types. */
  public Optional<Fields> objectOrElse(String name) {
    return values.get(name) instanceof Map<?, ?> ? object(name) : Optional.empty();
  }

  @SuppressWarnings("unchecked") // JSON has no other keys
  private Fields object(String name, Object value) {
    if (value instanceof Map<?, ?> map) {
      return new Fields(where + name + ".", (Map<String, @Nullable Object>) map);
    }
    throw wrong(name, "an object");
  }

  private List<?> list(String name) {
    Object value = take(name);
    if (value == null) {
      return List.of();
    }
    if (value instanceof List<?> list) {
      return list;
    }
    throw wrong(name, "an array");
  }

  public List<String> texts(String name) {
    var texts = new ArrayList<String>();
    for (Object each : list(name)) {
      if (!(each instanceof String text)) {
        throw wrong(name, "an array of strings");
      }
      texts.add(text);
    }
    return texts;
  }

  public List<Fields> objects(String name) {
    var objects = new ArrayList<Fields>();
    List<?> list = list(name);
    for (int i = 0; i < list.size(); i++) {
      Object each = list.get(i);
      objects.add(object(name + "[" + i + "]", each == null ? "" : each));
    }
    return objects;
  }

  public Map<String, String> textMap(String name) {
    var map = new LinkedHashMap<String, String>();
    object(name)
        .ifPresent(
            fields ->
                fields.values.forEach(
                    (key, value) ->
                        map.put(
                            key,
                            fields
                                .text(key)
                                .orElseThrow(() -> wrong(name + "." + key, "a string")))));
    return map;
  }

  /** Returns bytes in the form of {@link Output}: {@code {"text"}} or {@code {"base64"}}. */
  public Optional<byte[]> bytes(String name) {
    return object(name).map(fields -> fields.content());
  }

  private byte[] content() {
    Optional<String> text = text("text");
    Optional<String> base64 = text("base64");
    end();
    if (text.isPresent() == base64.isPresent()) {
      throw bad("\"" + where + "\" needs either \"text\" or \"base64\"");
    }
    return text.isPresent() ? utf8(where + "text", text.get()) : base64(base64.orElseThrow());
  }

  /** Refuses half a surrogate pair, which would become a question mark. */
  public static byte[] utf8(String name, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    // Decoding again is many times faster than an encoder that checks each character.
    if (!new String(bytes, StandardCharsets.UTF_8).equals(text)) {
      throw bad("\"" + name + "\" must be whole characters; other bytes go into \"base64\"");
    }
    return bytes;
  }

  private byte[] base64(String text) {
    try {
      return Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw wrong("base64", "base64");
    }
  }
}
