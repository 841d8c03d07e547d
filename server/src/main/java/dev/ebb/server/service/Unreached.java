package dev.ebb.server.service;

import dev.ebb.model.BoxState;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Detached boxes with an init that did not answer when the daemon started: a thread for each
 * retries until it answers or the box is ended. Thread-safe.
 */
final class Unreached implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Unreached.class.getName());
  private static final Backoff AGAIN = new Backoff(Duration.ofMillis(100), Duration.ofSeconds(10));

  private final Attempt attempt;
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

  /** Tries to reach a box; true when it answers. */
  interface Attempt {
    boolean reach(TenantBox box) throws InterruptedException;
  }

  Unreached(Attempt attempt) {
    this.attempt = attempt;
  }

  /** Begins to retry. */
  void watch(TenantBox box) {
    Thread thread =
        Thread.ofVirtual().name("ebb-adopt-" + box.id()).unstarted(() -> tryUntilReached(box));
    threads.add(thread);
    thread.start();
  }

  private void tryUntilReached(TenantBox box) {
    try {
      for (int tries = 1; box.state() == BoxState.UNREACHABLE; tries++) {
        Thread.sleep(AGAIN.after(tries));
        if (isReached(box)) {
          return;
        }
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=adopter_ends box={0}", box.id());
    } finally {
      threads.remove(Thread.currentThread());
    }
  }

  private boolean isReached(TenantBox box) throws InterruptedException {
    try {
      return attempt.reach(box);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=adoption_failed box=" + box.id() + " trying again", e);
      return false;
    }
  }

  /** Ends all retries. */
  @Override
  public void close() {
    threads.forEach(Thread::interrupt);
  }
}
