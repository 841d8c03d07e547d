package dev.ebb.client.http;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The bytes of a connection, plain or encrypted. One thread may read while another writes; any
 * thread may close it, which ends both.
 */
interface Wire extends Closeable {
  /** Reads some bytes; returns -1 at the end. */
  int read(ByteBuffer to) throws IOException;

  /** Writes some bytes, and returns how many. */
  int write(ByteBuffer from) throws IOException;

  /**
   * Returns whether the wire is open and holds no unexpected bytes; only while no other thread uses
   * it.
   */
  boolean isQuiet() throws IOException;

  /** Makes a wire without encryption. */
  static Wire plain(SocketChannel channel) {
    return new Wire() {
      @Override
      public int read(ByteBuffer to) throws IOException {
        return channel.read(to);
      }

      @Override
      public int write(ByteBuffer from) throws IOException {
        return channel.write(from);
      }

      @Override
      public boolean isQuiet() throws IOException {
        channel.configureBlocking(false);
        int n = channel.read(ByteBuffer.allocate(1));
        channel.configureBlocking(true);
        return n == 0;
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }
}
