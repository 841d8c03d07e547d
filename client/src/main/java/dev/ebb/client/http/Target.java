package dev.ebb.client.http;

import dev.ebb.json.Surrogates;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** A path and its query, each part encoded. */
public final class Target {
  private static final Pattern DOTS = Pattern.compile("\\.{0,2}");
  private static final String PLAIN = "-._~";

  private final String text;

  private Target(String text) {
    this.text = text;
  }

  /** Makes a path of segments; refuses a name that is no segment, such as an empty one. */
  public static Target of(String... segments) {
    var path = new StringBuilder();
    for (String segment : segments) {
      if (DOTS.matcher(segment).matches()) {
        throw new IllegalArgumentException("bad name \"" + segment + "\"");
      }
      path.append('/').append(encode(segment));
    }
    return new Target(path.toString());
  }

  public Target with(String name, Object value) {
    String pair = encode(name) + "=" + encode(String.valueOf(value));
    return new Target(text + (text.indexOf('?') < 0 ? "?" : "&") + pair);
  }

  private static String encode(String part) {
    var encoded = new StringBuilder();
    for (byte b : bytes(part)) {
      char c = (char) (b & 0xff);
      if (c < 128 && (Character.isLetterOrDigit(c) || PLAIN.indexOf(c) >= 0)) {
        encoded.append(c);
      } else {
        encoded.append(String.format("%%%02X", (int) c));
      }
    }
    return encoded.toString();
  }

  private static byte[] bytes(String part) {
    var bytes = new ByteArrayOutputStream(part.length());
    part.codePoints()
        .forEach(
            point -> {
              if (Surrogates.isByte(point)) {
                bytes.write(point);
              } else {
                bytes.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
              }
            });
    return bytes.toByteArray();
  }

  @Override
  public String toString() {
    return text;
  }
}
