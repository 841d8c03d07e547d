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

  private final Queue<Message> messages = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();

  /** One message to init. */
  interface Message {
    void send() throws KernelException;
  }

  /** Returns at once; messages are sent in their order. */
  void add(Message message) throws KernelException {
    if (waiting.get() >= MOST) {
      throw new KernelException("dismiss so many commands of a box", Errno.E2BIG);
    }
    messages.add(message);
    if (waiting.getAndIncrement() == 0) {
      Thread.ofVirtual().name("ebb-dismissals").start(this::sendAll);
    }
  }

  private void sendAll() {
    do {
      try {
        messages.remove().send();
      } catch (KernelException e) {
        LOG.log(Level.DEBUG, "event=init_not_told, ignoring: the next engine sends it", e);
      }
    } while (waiting.decrementAndGet() > 0);
  }
}
