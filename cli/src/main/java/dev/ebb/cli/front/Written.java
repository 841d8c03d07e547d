package dev.ebb.cli.front;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;

/** What a front did with what it was sent. */
final class Written implements FrontOutput.Answers {
  private final FrontWire wire;

  /** For each stream why it cannot be written. */
  private final AtomicReferenceArray<String> failures = new AtomicReferenceArray<>(3);

  private final ReentrantLock asking = new ReentrantLock();
  private final BlockingQueue<String> done = new ArrayBlockingQueue<>(1);

  Written(FrontWire wire) {
    this.wire = wire;
  }

  void takeFailure(byte[] content) {
    if (content.length > 0 && content[0] >= 0 && content[0] < failures.length()) {
      failures.set(content[0], FrontCaller.text(content, 1));
    }
  }

  /** Takes an answer; one that was not asked for is dropped. */
  void takeDone(byte[] content) {
    var _ = done.offer(FrontCaller.text(content, 0));
  }

  @Override
  public void requireWritten(int stream) throws IOException {
    String failure = failures.get(stream);
    if (failure != null) {
      throw new IOException(failure);
    }
  }

  @Override
  public void awaitWritten() throws IOException {
    ask(FrontProtocol.DAEMON_SYNC);
  }

  /** Sends a message that is answered by DONE, and waits for that. */
  void ask(char kind, byte... content) throws IOException {
    asking.lock();
    try {
      wire.send(kind, content);
      String reason = done.take();
      if (!reason.isEmpty()) {
        throw new IOException(reason);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    } finally {
      asking.unlock();
    }
  }
}
