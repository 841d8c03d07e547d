package dev.ebb.init;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Cuts what came from init into messages. The work for each byte is bounded, however many messages
 * there are in one piece and however many pieces one comes in; never more is kept than one message
 * and one piece. For one thread.
 */
final class IncomingMessages {
  record Message(int type, int exec, ByteBuffer body) {}

  private static final int LEAST = 4 * 1024;

  /** From its position to its limit: what was not taken yet. */
  private ByteBuffer pending = Protocol.buffer(LEAST).limit(0);

  void append(byte[] bytes, int size) {
    if (!pending.hasRemaining()) {
      pending.clear().limit(0);
    }
    int needed = pending.remaining() + size;
    if (pending.capacity() - pending.limit() < size) {
      // Half of it is free then: the next move is as far away as this one was long.
      pending =
          pending.capacity() >= 2 * needed
              ? pending.compact().flip()
              : Protocol.buffer(Math.max(2 * needed, LEAST)).put(pending).flip();
    }
    int end = pending.limit();
    pending.limit(end + size).put(end, bytes, 0, size);
  }

  /** The next message that has come whole. */
  Optional<Message> next() throws KernelException {
    int begin = pending.position();
    if (pending.remaining() < Protocol.HEADER_SIZE) {
      return Optional.empty();
    }
    int size = pending.getInt(begin);
    if (size < 0 || size > Protocol.MESSAGE_MAX) {
      throw new KernelException("understand a message of " + size + " bytes", Errno.EINVAL);
    }
    if (pending.remaining() < Protocol.HEADER_SIZE + size) {
      return Optional.empty();
    }
    var body = Protocol.buffer(size);
    body.put(0, pending, begin + Protocol.HEADER_SIZE, size);
    pending.position(begin + Protocol.HEADER_SIZE + size);
    return Optional.of(new Message(pending.getShort(begin + 4), pending.getInt(begin + 8), body));
  }
}
