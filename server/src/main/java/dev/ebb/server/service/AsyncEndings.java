package dev.ebb.server.service;

import dev.ebb.model.Certificate;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The threads that stop or remove a box after the answer, one for each box and verb. Thread-safe.
 */
final class AsyncEndings {
  private static final Logger LOG = System.getLogger(AsyncEndings.class.getName());

  /** The threads by name. */
  private final Map<String, Thread> threads = new ConcurrentHashMap<>();

  enum Verb {
    STOP,
    REMOVE;

    private String prefix() {
      return "ebb-" + name().toLowerCase(Locale.ROOT) + "-";
    }
  }

  interface Work {
    Certificate end() throws InterruptedException;
  }

  /** Ends a box after the answer; returns false if a thread is doing that already. */
  boolean start(Verb verb, TenantBox box, Work work) {
    String name = verb.prefix() + box.id();
    Thread thread =
        Thread.ofVirtual()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    work.end();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  } catch (RuntimeException e) {
                    LOG.log(Level.ERROR, "event=box_end_failed box=" + box.id(), e);
                  } finally {
                    threads.remove(name);
                  }
                });
    boolean isFirst = threads.putIfAbsent(name, thread) == null;
    if (isFirst) {
      thread.start();
    }
    return isFirst;
  }

  int count() {
    return threads.size();
  }

  /** Interrupts stops with a long grace; a detached box stays for the next daemon. */
  void interruptStops() {
    threads.forEach(
        (name, thread) -> {
          if (name.startsWith(Verb.STOP.prefix())) {
            thread.interrupt();
          }
        });
  }

  List<Thread> threads() {
    return List.copyOf(threads.values());
  }
}
