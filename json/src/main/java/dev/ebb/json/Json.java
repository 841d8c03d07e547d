package dev.ebb.json;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Converts between JSON text and values. A value is a {@link JsonObject}, {@link java.util.List},
 * {@link String}, {@link Long}, {@link Double}, {@link Boolean} or {@link JsonNull}.
 */
public final class Json {
  private Json() {}

  public static Object read(String text) throws JsonException {
    return new JsonReader(text).document();
  }

  public static Object read(byte[] utf8) throws JsonException {
    try {
      return read(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString());
    } catch (CharacterCodingException e) {
      throw new JsonException("bad JSON: not UTF-8");
    }
  }

  public static JsonObject readObject(byte[] utf8) throws JsonException {
    return object(read(utf8));
  }

  public static JsonObject readObject(String text) throws JsonException {
    return object(read(text));
  }

  private static JsonObject object(Object value) throws JsonException {
    if (value instanceof JsonObject object) {
      return object;
    }
    throw new JsonException("bad JSON: expected an object, found " + JsonObject.kind(value));
  }

  /** Writes a value on one line. */
  public static String write(Object value) {
    return new JsonWriter(false).write(value);
  }

  /** Writes a value indented, for people to read. */
  public static String indent(Object value) {
    return new JsonWriter(true).write(value);
  }
}
