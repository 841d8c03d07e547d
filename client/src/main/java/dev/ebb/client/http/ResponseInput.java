package dev.ebb.client.http;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/**
 * The body of an answer. Reading it to the end returns the connection to the pool; closing it
 * earlier closes the connection, which is how a caller cancels.
 */
abstract class ResponseInput extends InputStream {
  private final Connection connection;
  private final Duration patience;
  private final Runnable giveBack;
  private boolean over;

  ResponseInput(Connection connection, Duration patience, Runnable giveBack) {
    this.connection = connection;
    this.patience = patience;
    this.giveBack = giveBack;
  }

  /** Reads at least one byte, or returns -1 at the end of the body. */
  abstract int readSome(byte[] buffer, int offset, int length, Deadline deadline)
      throws IOException;

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    if (over || length == 0) {
      return over ? -1 : 0;
    }
    try {
      int n = readSome(buffer, offset, length, Deadline.in(patience));
      if (n < 0) {
        over = true;
        giveBack.run();
      }
      return n;
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public void close() {
    if (!over) {
      over = true;
      connection.close();
    }
  }

  /** A body of Content-Length bytes. */
  static final class Fixed extends ResponseInput {
    private final Connection connection;
    private long left;

    Fixed(Connection connection, long length, Duration patience, Runnable giveBack) {
      super(connection, patience, giveBack);
      this.connection = connection;
      left = length;
    }

    @Override
    int readSome(byte[] buffer, int offset, int length, Deadline deadline) throws IOException {
      if (left == 0) {
        return -1;
      }
      int n = connection.read(buffer, offset, (int) Math.min(length, left), deadline);
      if (n < 0) {
        throw connection.cutShort(left + " bytes before the end of the body");
      }
      left -= n;
      return n;
    }
  }

  /** A body that ends with the connection; a body cut short looks the same. */
  static final class UntilClose extends ResponseInput {
    private final Connection connection;

    UntilClose(Connection connection, Duration patience) {
      super(connection, patience, connection::close);
      this.connection = connection;
    }

    @Override
    int readSome(byte[] buffer, int offset, int length, Deadline deadline) throws IOException {
      return connection.read(buffer, offset, length, deadline);
    }
  }
}
