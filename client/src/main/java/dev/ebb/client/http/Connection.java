package dev.ebb.client.http;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One connection, with the bytes that arrived and were not read yet. One thread may read while
 * another writes; any thread may close it, which ends both.
 */
final class Connection implements Closeable {
  private static final int BUFFER = 16 * 1024;

  private final Wire wire;
  private final Watchdog watchdog;
  private final Endpoint endpoint;
  private final ByteBuffer arrived = ByteBuffer.allocate(BUFFER).flip();
  private long sent;
  private long received;

  private Connection(Wire wire, Watchdog watchdog, Endpoint endpoint) {
    this.wire = wire;
    this.watchdog = watchdog;
    this.endpoint = endpoint;
  }

  static Connection open(Endpoint endpoint, Watchdog watchdog, Deadline deadline)
      throws IOException {
    return new Connection(endpoint.open(watchdog, deadline), watchdog, endpoint);
  }

  /** Bytes that the kernel took since {@link #beginExchange}. */
  long sent() {
    return sent;
  }

  /** Bytes that came since {@link #beginExchange}. */
  long received() {
    return received;
  }

  void beginExchange() {
    sent = 0;
    received = 0;
  }

  /** Writes all bytes. */
  void write(ByteBuffer bytes, Deadline deadline) throws IOException {
    while (bytes.hasRemaining()) {
      Watchdog.Watch watch = watchdog.watch(wire, deadline);
      try {
        sent += wire.write(bytes);
      } catch (IOException e) {
        throw watch.isInTime() ? e : late("accepted nothing", deadline);
      }
      if (!watch.isInTime()) {
        throw late("accepted nothing", deadline);
      }
    }
  }

  /** Reads some bytes; returns -1 at the end. */
  int read(byte[] buffer, int offset, int length, Deadline deadline) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (!arrived.hasRemaining() && !fill(deadline)) {
      return -1;
    }
    int n = Math.min(length, arrived.remaining());
    arrived.get(buffer, offset, n);
    return n;
  }

  /** Reads one byte; returns -1 at the end. */
  int read(Deadline deadline) throws IOException {
    return arrived.hasRemaining() || fill(deadline) ? arrived.get() & 0xff : -1;
  }

  private boolean fill(Deadline deadline) throws IOException {
    Watchdog.Watch watch = watchdog.watch(wire, deadline);
    int n;
    arrived.clear();
    try {
      n = wire.read(arrived);
    } catch (IOException e) {
      throw watch.isInTime() ? e : late("sent nothing", deadline);
    } finally {
      arrived.flip();
    }
    if (!watch.isInTime()) {
      throw late("sent nothing", deadline);
    }
    received += Math.max(n, 0);
    return n > 0;
  }

  /**
   * Reads a line, and returns it without its end.
   *
   * @param what names the line, for the error about one that does not end within {@code limit}
   *     bytes
   */
  String line(String what, int limit, Deadline deadline) throws IOException {
    var line = new StringBuilder();
    while (true) {
      int b = read(deadline);
      if (b < 0) {
        throw new EOFException(endpoint + " closed the connection within " + what);
      }
      if (b == '\n') {
        int length = line.length();
        boolean carriage = length > 0 && line.charAt(length - 1) == '\r';
        return line.substring(0, carriage ? length - 1 : length);
      }
      if (line.length() == limit) {
        throw new ProtocolException(endpoint + " sent " + what + " of more than " + limit);
      }
      line.append((char) b);
    }
  }

  void write(String text, Deadline deadline) throws IOException {
    write(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)), deadline);
  }

  private SocketTimeoutException late(String what, Deadline deadline) {
    return new SocketTimeoutException(
        endpoint + " " + what + " for " + deadline.patience().toMillis() + " ms");
  }

  ProtocolException malformed(String what) {
    return new ProtocolException(endpoint + " sent " + what);
  }

  EOFException cutShort(String what) {
    return new EOFException(endpoint + " closed the connection " + what);
  }

  /**
   * Returns whether the connection is open and holds no unexpected bytes; only while no exchange is
   * under way.
   */
  boolean isQuiet() {
    if (arrived.hasRemaining()) {
      return false;
    }
    try {
      return wire.isQuiet();
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() {
    try {
      wire.close();
    } catch (IOException e) {
      // The descriptor is closed all the same.
    }
  }
}
