package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** Bytes that are often text. Immutable. */
public final class Output {
  private static final Output EMPTY = new Output(new byte[0]);

  private final byte[] bytes;

  private Output(byte[] bytes) {
    this.bytes = bytes;
  }

  public static Output of(byte[] bytes) {
    return new Output(bytes.clone());
  }

  public static Output of(String text) {
    return new Output(text.getBytes(StandardCharsets.UTF_8));
  }

  static Output read(@Nullable JsonObject output) throws JsonException {
    if (output == null) {
      return EMPTY;
    }
    String text = output.stringOrNull("text");
    return text != null ? of(text) : new Output(decoded(output.string("base64")));
  }

  private static byte[] decoded(String base64) throws JsonException {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      throw Documents.bad("field \"base64\" is not base64");
    }
  }

  /** Returns {@code text} if the bytes are UTF-8, otherwise {@code base64}. */
  public JsonObject document() {
    try {
      ByteBuffer content = ByteBuffer.wrap(bytes);
      String text = StandardCharsets.UTF_8.newDecoder().decode(content).toString();
      return JsonObject.empty().with("text", text);
    } catch (CharacterCodingException e) {
      return JsonObject.empty().with("base64", Base64.getEncoder().encodeToString(bytes));
    }
  }

  public byte[] bytes() {
    return bytes.clone();
  }

  public int size() {
    return bytes.length;
  }

  /** Decodes the bytes as UTF-8; replaces what is not UTF-8. */
  public String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Output output && Arrays.equals(bytes, output.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return text();
  }
}
