package dev.ebb.egress;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.TcpSocket;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.LongAdder;

/**
 * One direction of a connection. It takes no more than the other side takes from it, so a slow
 * reader slows down its writer only. For one thread.
 */
final class Flow {
  /** Carries bytes until the end of the stream. */
  static final long ENDLESS = Long.MAX_VALUE;

  private final Fd from;
  private final Fd to;
  private final LongAdder carried;
  private final AnswerHead head;

  /** How many more bytes it carries. */
  private long left;

  /** What the other side would not take yet, from {@code sent} on; never more than one buffer. */
  private byte[] pending;

  private int sent;
  private boolean hasEnded;

  /**
   * Makes a flow from one side to the other.
   *
   * @param begin bytes to send first
   * @param left how many bytes follow
   * @param carried counts the bytes
   * @param head edits the head of what follows
   */
  Flow(Fd from, Fd to, byte[] begin, long left, LongAdder carried, AnswerHead head) {
    this.head = head;
    this.from = from;
    this.to = to;
    this.left = left;
    this.carried = carried;
    pending = begin;
  }

  boolean wantsRead() {
    return !hasEnded && left > 0 && !wantsWrite();
  }

  boolean wantsWrite() {
    return sent < pending.length;
  }

  /** Returns whether everything has arrived and is sent. */
  boolean isDone() {
    return (hasEnded || left == 0) && !wantsWrite();
  }

  /** Moves at most one buffer without waiting; returns whether anything moved. */
  boolean move(ByteBuffer buffer) throws KernelException {
    if (wantsWrite()) {
      int size = Math.min(buffer.capacity(), pending.length - sent);
      int more = TcpSocket.send(to, buffer.clear().put(pending, sent, size).flip());
      sent += Math.max(0, more);
      carried.add(Math.max(0, more));
      return more > 0;
    }
    return wantsRead() && take(buffer);
  }

  private boolean take(ByteBuffer buffer) throws KernelException {
    int received = TcpSocket.receive(from, limited(buffer.clear()));
    hasEnded = received == 0;
    left -= left == ENDLESS ? 0 : Math.max(0, received);
    if (received >= 0 && !head.isPassed()) {
      byte[] came = new byte[received];
      buffer.flip().get(came);
      pending = hasEnded ? head.rest() : head.edit(came);
      sent = 0;
    } else if (received > 0) {
      carried.add(Math.max(0, TcpSocket.send(to, buffer.flip())));
      pending = new byte[buffer.remaining()];
      buffer.get(pending);
      sent = 0;
    }
    return received >= 0;
  }

  private ByteBuffer limited(ByteBuffer buffer) {
    return buffer.limit((int) Math.min(buffer.capacity(), left));
  }
}
