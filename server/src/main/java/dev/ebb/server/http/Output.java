package dev.ebb.server.http;

import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

/**
 * Bytes in their JSON form: {@code {"text"}} if they are UTF-8, otherwise {@code {"base64"}}. They
 * are converted piece by piece while they are written, so there is never a second copy.
 */
@SuppressWarnings({
  "ArrayRecordComponent", // never compared, never changed
  "exports" // for doors in modules of their own, see module-info
})
public record Output(byte[] bytes) {
  /** The schema, in requests and answers. */
  static final Schema SCHEMA =
      new Schema() {
        @Override
        public Map<String, Object> describe(Components components) {
          return components.refer("Output", this, Output::schema);
        }
      };

  public static final Value<byte[]> VALUE = Value.of(SCHEMA, Output::new);

  private static final int PIECE = 2048;

  private static Map<String, Object> schema() {
    var properties =
        Values.keywords(
            "text",
            Values.keywords("type", "string"),
            "base64",
            Values.keywords("type", "string", "contentEncoding", "base64"));
    return Values.keywords(
        "type",
        "object",
        "description",
        "Bytes: text when they are valid UTF-8, else base64.",
        "properties",
        properties,
        "minProperties",
        1,
        "maxProperties",
        1,
        "additionalProperties",
        false);
  }

  /** Receives characters, never half of a pair. */
  interface Taker<E extends Exception> {
    void take(CharBuffer some) throws E;
  }

  /** Returns it as a document, for short ones. */
  public Map<String, Object> document() {
    return isText()
        ? Map.of("text", new String(bytes, StandardCharsets.UTF_8))
        : Map.of("base64", Base64.getEncoder().encodeToString(bytes));
  }

  boolean isText() {
    return decode(_ -> {});
  }

  /** Decodes all bytes piece by piece; returns false if they are not UTF-8. */
  <E extends Exception> boolean decode(Taker<E> taker) throws E {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer from = ByteBuffer.wrap(bytes);
    CharBuffer some = CharBuffer.allocate(PIECE);
    CoderResult result;
    do {
      result = decoder.decode(from, some, true);
      taker.take(some.flip());
      some.clear();
    } while (result.isOverflow());
    return !result.isError();
  }
}
