package dev.ebb.client.http;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Sends a body, plain or in chunks, and records whether a failure was the server's or the body's.
 */
final class RequestOutput extends OutputStream {
  private final Connection connection;
  private final Duration patience;
  private final boolean chunked;
  private long left;
  private @Nullable IOException refusal;

  RequestOutput(Connection connection, Request request) {
    this.connection = connection;
    patience = request.patience();
    chunked = request.body().length() < 0;
    left = request.body().length();
  }

  /**
   * Why the server read no more; null if it read everything, or if the body itself could not be
   * read.
   */
  @Nullable IOException refusal() {
    return refusal;
  }

  void head(String head) throws IOException {
    send(ByteBuffer.wrap(head.getBytes(StandardCharsets.ISO_8859_1)));
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return;
    }
    if (chunked) {
      chunk(Arrays.copyOfRange(bytes, offset, offset + length));
      return;
    }
    left -= length;
    if (left < 0) {
      throw new IOException("the body is longer than its Content-Length");
    }
    send(ByteBuffer.wrap(bytes, offset, length));
  }

  private void chunk(byte[] bytes) throws IOException {
    byte[] size = (Integer.toHexString(bytes.length) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    send(
        ByteBuffer.allocate(size.length + bytes.length + 2)
            .put(size)
            .put(bytes)
            .put((byte) '\r')
            .put((byte) '\n')
            .flip());
  }

  private void send(ByteBuffer bytes) throws IOException {
    try {
      connection.write(bytes, Deadline.in(patience));
    } catch (IOException e) {
      refusal = e;
      throw e;
    }
  }

  /** Ends the body. */
  void finish() throws IOException {
    if (chunked) {
      send(ByteBuffer.wrap("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
    } else if (left > 0) {
      throw new IOException("the body is shorter than its Content-Length");
    }
  }
}
