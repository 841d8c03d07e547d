package dev.ebb.cli.front;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The connection to a front, message by message. One thread receives, any thread sends.
 *
 * <p>A front that is stopped does not read: then a sender waits, and nothing else does.
 */
final class FrontWire {
  private final SocketChannel channel;
  private final ReentrantLock sending = new ReentrantLock();
  private final ByteBuffer head = ByteBuffer.allocate(FrontProtocol.FRONT_HEADER);

  FrontWire(SocketChannel channel) {
    this.channel = channel;
  }

  /** What was received. */
  static final class Message {
    private final char kind;
    private final byte[] content;

    private Message(char kind, byte[] content) {
      this.kind = kind;
      this.content = content;
    }

    char kind() {
      return kind;
    }

    byte[] content() {
      return content;
    }
  }

  /** Waits for a message; its end is an EOFException. */
  Message receive(int most) throws IOException {
    fill(head.clear());
    char kind = (char) head.get();
    int length = head.getInt();
    if (length < 0 || length > most) {
      throw new IOException("bad length of a message: " + length);
    }
    var content = new byte[length];
    fill(ByteBuffer.wrap(content));
    return new Message(kind, content);
  }

  private void fill(ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new EOFException();
      }
    }
    buffer.flip();
  }

  void send(char kind, byte... content) throws IOException {
    send(kind, content, 0, content.length);
  }

  void send(char kind, byte[] content, int offset, int length) throws IOException {
    ByteBuffer message = ByteBuffer.allocate(FrontProtocol.FRONT_HEADER + length);
    message.put((byte) kind).putInt(length).put(content, offset, length).flip();
    sending.lock();
    try {
      while (message.hasRemaining()) {
        var _ = channel.write(message);
      }
    } finally {
      sending.unlock();
    }
  }

  void sendNumber(char kind, int number) throws IOException {
    send(kind, ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
  }

  /** Ends all sending and receiving, in any thread. */
  void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // The descriptor is closed all the same.
    }
  }
}
