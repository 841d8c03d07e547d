package dev.ebb.client.http;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The client's end of a WebSocket (RFC 6455). One thread receives; any thread may send or close.
 *
 * <p>The thread that receives answers pings.
 */
public final class WebSocket implements Closeable {
  static final int MAX_MESSAGE = 16 * 1024 * 1024;
  private static final int MAX_CONTROL = 125;
  private static final Duration SEND_PATIENCE = Duration.ofSeconds(60);
  private static final int NORMAL_CLOSURE = 1000;
  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;

  private final Connection connection;
  private final ReentrantLock sending = new ReentrantLock();
  private boolean closeSent;

  WebSocket(Connection connection) {
    this.connection = connection;
  }

  /** A complete message; the bytes of a text are UTF-8. */
  public static final class Message {
    private final boolean text;
    private final byte[] bytes;

    private Message(boolean text, byte[] bytes) {
      this.text = text;
      this.bytes = bytes;
    }

    public boolean isText() {
      return text;
    }

    public byte[] bytes() {
      return bytes.clone();
    }

    public String text() {
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  private record Frame(boolean last, int opcode, ByteArrayOutputStream payload) {}

  /** Waits for the next message, without a time limit; empty once the server has closed. */
  public Optional<Message> receive() throws IOException {
    try {
      return receiveMessage();
    } catch (IOException e) {
      connection.close();
      throw e;
    }
  }

  private Optional<Message> receiveMessage() throws IOException {
    int kind = CONTINUATION;
    var bytes = new ByteArrayOutputStream();
    while (true) {
      Frame frame = readFrame(MAX_MESSAGE - bytes.size());
      if (frame.opcode == CLOSE) {
        answerClose();
        return Optional.empty();
      }
      if (frame.opcode == PING) {
        send(PONG, ByteBuffer.wrap(frame.payload.toByteArray()));
      }
      if (frame.opcode >= CLOSE) {
        continue;
      }
      if ((frame.opcode == CONTINUATION) != (kind != CONTINUATION)) {
        throw connection.malformed("fragments out of order");
      }
      kind = kind == CONTINUATION ? frame.opcode : kind;
      frame.payload.writeTo(bytes);
      if (frame.last) {
        return Optional.of(message(kind, bytes.toByteArray()));
      }
    }
  }

  private Message message(int kind, byte[] bytes) throws IOException {
    if (kind == TEXT) {
      try {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      } catch (CharacterCodingException e) {
        throw connection.malformed("a text that is not UTF-8");
      }
    }
    return new Message(kind == TEXT, bytes);
  }

  private Frame readFrame(int limit) throws IOException {
    int first = readByte();
    int second = readByte();
    int opcode = first & 0x0f;
    boolean last = (first & 0x80) != 0;
    boolean control = opcode >= CLOSE;
    if ((first & 0x70) != 0 || opcode > PONG || (opcode > BINARY && !control)) {
      throw connection.malformed("a frame of an unknown kind");
    }
    if ((second & 0x80) != 0) {
      throw connection.malformed("a masked frame");
    }
    long length = length(second & 0x7f);
    if (control && (length > MAX_CONTROL || !last)) {
      throw connection.malformed("a bad control frame");
    }
    if (length < 0 || (!control && length > limit)) {
      throw connection.malformed("a message of more than " + MAX_MESSAGE + " bytes");
    }
    return new Frame(last, opcode, payload((int) length));
  }

  private long length(int small) throws IOException {
    int bytes = small == 127 ? 8 : small == 126 ? 2 : 0;
    long length = bytes == 0 ? small : 0;
    for (int i = 0; i < bytes; i++) {
      length = (length << 8) | readByte();
    }
    return length;
  }

  /** Memory grows with the bytes that arrive, not with the announced length. */
  private ByteArrayOutputStream payload(int length) throws IOException {
    var bytes = new ByteArrayOutputStream();
    byte[] piece = new byte[Math.min(length, 16 * 1024)];
    while (bytes.size() < length) {
      int wanted = Math.min(piece.length, length - bytes.size());
      int n = connection.read(piece, 0, wanted, Deadline.NEVER);
      if (n < 0) {
        throw connection.cutShort("within a WebSocket frame");
      }
      bytes.write(piece, 0, n);
    }
    return bytes;
  }

  private int readByte() throws IOException {
    int b = connection.read(Deadline.NEVER);
    if (b < 0) {
      throw connection.cutShort("without closing the WebSocket");
    }
    return b;
  }

  public void send(byte[] bytes) throws IOException {
    send(BINARY, ByteBuffer.wrap(bytes));
  }

  public void send(String text) throws IOException {
    send(TEXT, ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  private void send(int opcode, ByteBuffer payload) throws IOException {
    ByteBuffer frame = masked(opcode, payload);
    sending.lock();
    try {
      if (closeSent) {
        throw new IOException("the WebSocket is closed");
      }
      closeSent = opcode == CLOSE;
      connection.write(frame, Deadline.in(SEND_PATIENCE));
    } finally {
      sending.unlock();
    }
  }

  private static ByteBuffer masked(int opcode, ByteBuffer payload) {
    int length = payload.remaining();
    ByteBuffer frame = ByteBuffer.allocate(length + 14).put((byte) (0x80 | opcode));
    if (length <= MAX_CONTROL) {
      frame.put((byte) (0x80 | length));
    } else if (length <= 0xffff) {
      frame.put((byte) (0x80 | 126)).putShort((short) length);
    } else {
      frame.put((byte) (0x80 | 127)).putLong(length);
    }
    int mask = ThreadLocalRandom.current().nextInt();
    frame.putInt(mask);
    for (int i = 0; i < length; i++) {
      frame.put((byte) (payload.get() ^ (mask >>> (24 - i % 4 * 8))));
    }
    return frame.flip();
  }

  private void answerClose() {
    sendClose();
    connection.close();
  }

  private void sendClose() {
    try {
      send(CLOSE, ByteBuffer.allocate(2).putShort((short) NORMAL_CLOSURE).flip());
    } catch (IOException e) {
      // The connection ends in any case; the close frame was a courtesy.
    }
  }

  @Override
  public void close() {
    sendClose();
    connection.close();
  }
}
