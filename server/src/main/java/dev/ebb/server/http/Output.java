package dev.ebb.server.http;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * Bytes as JSON has them: {@code {"text"}} if they are UTF-8, else {@code {"base64"}}. They become
 * that only when they are written, a piece at a time: there is never a second copy of them.
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record Output(byte[] bytes) {
  private static final int PIECE = 2048;

  /** Takes characters, never half of a pair. */
  interface Taker<E extends Exception> {
    void take(CharBuffer some) throws E;
  }

  boolean isText() {
    return decode(_ -> {});
  }

  /** All characters, in pieces; false when they are none. */
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
