package dev.ebb.client.http;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.time.Duration;

/** An answer with an unread body; closing it before the end of the body cancels the request. */
public record Response(int status, Headers headers, InputStream body) implements Closeable {
  /**
   * Reads the whole body; fails if it is longer than {@code limit}, or takes longer than {@code
   * patience}, unless that is zero.
   */
  public byte[] bytes(int limit, Duration patience) throws IOException {
    Deadline deadline = Deadline.in(patience);
    try (this) {
      var bytes = new ByteArrayOutputStream();
      byte[] piece = new byte[8 * 1024];
      for (int n = body.read(piece); n >= 0; n = body.read(piece)) {
        if (bytes.size() + n > limit) {
          throw new ProtocolException("an answer of more than " + limit + " bytes");
        }
        bytes.write(piece, 0, n);
        if (!deadline.isNever() && deadline.nanosLeft() < 0) {
          throw new SocketTimeoutException("no whole answer in " + patience.toMillis() + " ms");
        }
      }
      return bytes.toByteArray();
    }
  }

  @Override
  public void close() throws IOException {
    body.close();
  }
}
