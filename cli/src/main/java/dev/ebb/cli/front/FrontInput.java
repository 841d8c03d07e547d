package dev.ebb.cli.front;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Stdin of a front, which reads only what is asked for: what the command does not take stays for
 * the programs after it. One thread reads.
 */
final class FrontInput extends InputStream {
  private final FrontWire wire;
  private final BlockingQueue<FrontWire.Message> answers = new ArrayBlockingQueue<>(1);
  private byte[] chunk = {};
  private int taken;
  private boolean isOver;

  FrontInput(FrontWire wire) {
    this.wire = wire;
  }

  /** Takes an answer of the front; one that was not asked for is dropped. */
  void take(FrontWire.Message answer) {
    var _ = answers.offer(answer);
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (taken == chunk.length && !isOver) {
      ask(Math.min(length, FrontProtocol.FRONT_CHUNK));
    }
    if (isOver) {
      return -1;
    }
    int n = Math.min(length, chunk.length - taken);
    System.arraycopy(chunk, taken, buffer, offset, n);
    taken += n;
    return n;
  }

  private void ask(int most) throws IOException {
    wire.sendNumber(FrontProtocol.DAEMON_READ, most);
    FrontWire.Message answer = await();
    if (answer.kind() == FrontProtocol.FRONT_UNREAD) {
      throw new IOException(FrontCaller.text(answer.content(), 0));
    }
    chunk = answer.content();
    taken = 0;
    isOver = chunk.length == 0;
  }

  private FrontWire.Message await() throws IOException {
    try {
      return answers.take();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }
}
