package dev.ebb.model;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * Converts text of a box, where a name may be any bytes, to strings and back without loss: UTF-8,
 * and each byte that is not UTF-8 becomes a lone surrogate U+DC80…U+DCFF.
 */
public final class BoxText {
  private static final int ESCAPE = 0xDC00;

  private BoxText() {}

  public static String decode(byte[] bytes, int from, int to) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer input = ByteBuffer.wrap(bytes, from, to - from);
    CharBuffer text = CharBuffer.allocate(to - from);
    CoderResult result = decoder.decode(input, text, true);
    while (!result.isUnderflow()) {
      for (int i = 0; i < result.length(); i++) {
        text.put((char) (ESCAPE | (input.get() & 0xFF)));
      }
      result = decoder.decode(input, text, true);
    }
    return text.flip().toString();
  }

  public static byte[] encode(String text) {
    if (text.chars().noneMatch(BoxText::isEscape)) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
    var bytes = new ByteArrayOutputStream(text.length());
    text.codePoints()
        .forEach(
            point -> {
              if (isEscape(point)) {
                bytes.write(point);
              } else {
                bytes.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
              }
            });
    return bytes.toByteArray();
  }

  private static boolean isEscape(int character) {
    return character >= (ESCAPE | 0x80) && character <= (ESCAPE | 0xFF);
  }
}
