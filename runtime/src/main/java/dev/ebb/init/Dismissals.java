package dev.ebb.init;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Messages to init about commands without a caller. Init may be slow to read, so a thread that no
 * other work waits for sends them. Thread-safe.
 */
final class Dismissals {
  private static final Logger LOG = System.getLogger(Dismissals.class.getName());

  /**
   * More than an honest init can cause: it has a bounded number of commands, and two messages for
   * each.
   */
  private static final int MOST = 1024;

  private final Queue<Word> words = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();

  /** One message to init. */
  interface Word {
    void say() throws KernelException;
  }

  /** Returns at once; messages are sent in their order. */
  void add(Word word) throws KernelException {
    if (waiting.get() >= MOST) {
      throw new KernelException("dismiss so many commands of a box", Errno.E2BIG);
    }
    words.add(word);
    if (waiting.getAndIncrement() == 0) {
      Thread.ofVirtual().name("ebb-dismissals").start(this::sayAll);
    }
  }

  private void sayAll() {
    do {
      try {
        words.remove().say();
      } catch (KernelException e) {
        LOG.log(Level.DEBUG, "event=init_not_told, ignoring: the next engine tells it", e);
      }
    } while (waiting.decrementAndGet() > 0);
  }
}
