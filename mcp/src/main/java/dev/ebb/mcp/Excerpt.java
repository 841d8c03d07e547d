package dev.ebb.mcp;

import dev.ebb.exec.OutputLog;
import dev.ebb.server.http.Output;
import dev.ebb.server.schema.Value;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A part of the output of a command.
 *
 * @param text for a reader: invalid bytes are replaced by U+FFFD
 * @param next the offset at which to continue
 * @param size the size of the whole output by now
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
record Excerpt(byte[] bytes, String text, long next, long size) {
  static final Excerpt NOTHING = new Excerpt(new byte[0], "", 0, 0);

  /** Returns it for a program, in the form of all doors. */
  static final Value<Excerpt> OUTPUT =
      Value.of(Output.VALUE, excerpt -> new Output(excerpt.bytes()).document());

  boolean isCut() {
    return next < size;
  }

  /** Reads up to this many bytes, in whole characters. */
  static Excerpt of(OutputLog log, long offset, int most) {
    long size = log.size();
    byte[] bytes = new byte[(int) Math.min(most, Math.max(0, size - offset))];
    int n = Math.max(0, log.read(offset, bytes));
    boolean isLast = log.isEnd(offset + n);
    CharsetDecoder decoder =
        StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    ByteBuffer in = ByteBuffer.wrap(n == bytes.length ? bytes : Arrays.copyOf(bytes, n));
    CharBuffer out = CharBuffer.allocate(n + 1);
    decoder.decode(in, out, isLast);
    int read = in.position() == 0 ? n : in.position();
    return new Excerpt(Arrays.copyOf(bytes, read), out.flip().toString(), offset + read, size);
  }
}
