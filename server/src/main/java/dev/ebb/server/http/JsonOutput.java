package dev.ebb.server.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Writes a document of maps, lists, strings, numbers and booleans, one buffer at a time. Escapes
 * halves of surrogate pairs, which UTF-8 could not hold: they stand for the bytes of a name that is
 * not UTF-8, see BoxText.
 */
public final class JsonOutput {
  private static final int BUFFER = 16 * 1024;

  /** The most characters that one character is escaped to. */
  private static final int CHARACTER_MOST = 6;

  /** A multiple of three, so that only the last piece is padded. */
  private static final int BASE64_PIECE = 3 * 1024;

  private static final byte[] HEX =
      "0123456789abcdef".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  /** Opens the stream for a long document. */
  interface Opening {
    OutputStream open() throws IOException;
  }

  private final Opening opening;
  private final byte[] buffer = new byte[BUFFER];
  private int length;
  private @Nullable OutputStream out;

  private JsonOutput(Opening opening) {
    this.opening = opening;
  }

  /** Writes a short document. */
  public static byte[] write(Object document) {
    var bytes = new ByteArrayOutputStream();
    try {
      write(document, bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  public static void write(Object document, OutputStream out) throws IOException {
    var output = new JsonOutput(() -> out);
    output.value(document);
    output.flush();
  }

  /**
   * Writes a document that is longer than a buffer to the stream from {@code opening}, and closes
   * the stream only if all was written: a partial document does not look complete.
   *
   * @return a short document, for which nothing was opened
   */
  public static Optional<byte[]> write(Object document, Opening opening) throws IOException {
    var output = new JsonOutput(opening);
    output.value(document);
    if (output.out == null) {
      return Optional.of(Arrays.copyOf(output.buffer, output.length));
    }
    output.flush();
    output.out.close();
    return Optional.empty();
  }

  private void flush() throws IOException {
    OutputStream to = out;
    if (to == null) {
      to = opening.open();
      out = to;
    }
    to.write(buffer, 0, length);
    length = 0;
  }

  private void value(Object value) throws IOException {
    switch (value) {
      case Map<?, ?> map -> object(map);
      case Iterable<?> list -> array(list);
      case Number number -> ascii(number.toString());
      case Boolean truth -> ascii(truth.toString());
      case String text -> string(text);
      case Output output -> output(output);
      default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
    }
  }

  private void object(Map<?, ?> map) throws IOException {
    char before = '{';
    for (var entry : map.entrySet()) {
      put(before);
      string((String) entry.getKey());
      put(':');
      value(entry.getValue());
      before = ',';
    }
    ascii(before == '{' ? "{}" : "}");
  }

  private void array(Iterable<?> list) throws IOException {
    char before = '[';
    for (Object each : list) {
      put(before);
      value(each);
      before = ',';
    }
    ascii(before == '[' ? "[]" : "]");
  }

  private void string(String text) throws IOException {
    put('"');
    characters(text);
    put('"');
  }

  private void characters(CharSequence text) throws IOException {
    for (int i = 0; i < text.length(); ) {
      int point = Character.codePointAt(text, i);
      character(point);
      i += Character.charCount(point);
    }
  }

  private void output(Output output) throws IOException {
    if (output.isText()) {
      ascii("{\"text\":\"");
      output.decode(this::characters);
    } else {
      ascii("{\"base64\":\"");
      base64(output.bytes());
    }
    ascii("\"}");
  }

  private void base64(byte[] bytes) throws IOException {
    for (int at = 0; at < bytes.length; at += BASE64_PIECE) {
      int end = Math.min(bytes.length, at + BASE64_PIECE);
      byte[] piece = Base64.getEncoder().encode(Arrays.copyOfRange(bytes, at, end));
      for (byte each : piece) {
        put((char) each);
      }
    }
  }

  private void character(int point) throws IOException {
    boolean isHalf = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE;
    switch (point) {
      case '"' -> ascii("\\\"");
      case '\\' -> ascii("\\\\");
      case '\n' -> ascii("\\n");
      case '\r' -> ascii("\\r");
      case '\t' -> ascii("\\t");
      default -> {
        if (point < ' ' || point == 0x7f || isHalf) {
          escape(point);
        } else if (point < 0x80) {
          put((char) point);
        } else {
          utf8(point);
        }
      }
    }
  }

  private void escape(int point) throws IOException {
    ascii("\\u");
    for (int shift = 12; shift >= 0; shift -= 4) {
      put((char) HEX[(point >> shift) & 0xf]);
    }
  }

  private void utf8(int point) throws IOException {
    room();
    if (point < 0x800) {
      buffer[length++] = (byte) (0xc0 | (point >> 6));
    } else {
      if (point < 0x10000) {
        buffer[length++] = (byte) (0xe0 | (point >> 12));
      } else {
        buffer[length++] = (byte) (0xf0 | (point >> 18));
        buffer[length++] = (byte) (0x80 | ((point >> 12) & 0x3f));
      }
      buffer[length++] = (byte) (0x80 | ((point >> 6) & 0x3f));
    }
    buffer[length++] = (byte) (0x80 | (point & 0x3f));
  }

  private void ascii(String text) throws IOException {
    for (int i = 0; i < text.length(); i++) {
      put(text.charAt(i));
    }
  }

  private void put(char c) throws IOException {
    room();
    buffer[length++] = (byte) c;
  }

  private void room() throws IOException {
    if (length + CHARACTER_MOST > BUFFER) {
      flush();
    }
  }
}
