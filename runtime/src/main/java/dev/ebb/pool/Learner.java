package dev.ebb.pool;

import dev.ebb.kernel.Deadline;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;

/**
 * Tries the modules that programs import, one at a time while no caller needs the processors, and
 * has python import those that pass. Owns one virtual thread.
 */
final class Learner implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Learner.class.getName());

  /** How long a trial waits for a quiet moment. */
  private static final Duration QUIET = Duration.ofSeconds(2);

  private static final Duration LOOK_AGAIN = Duration.ofMillis(5);

  private final Preloads preloads;
  private final ModuleTrial trial;
  private final Refill refill;
  private final Change change;
  private final Thread thread;

  /** Has python import these modules before it waits, from now on. */
  interface Change {
    void to(List<String> modules) throws InterruptedException;
  }

  Learner(Preloads preloads, ModuleTrial trial, Refill refill, Change change) {
    this.preloads = preloads;
    this.trial = trial;
    this.refill = refill;
    this.change = change;
    thread = Thread.ofVirtual().name("ebb-pool-learn").unstarted(this::learn);
  }

  void start() {
    thread.start();
  }

  private void learn() {
    try {
      while (true) {
        learnOnce(preloads.awaitCandidates());
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "event=pool_learning_ends");
    }
  }

  private void learnOnce(List<String> names) throws InterruptedException {
    for (String name : names) {
      awaitQuiet();
      try {
        preloads.tried(name, trial.of(name));
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "event=pool_module_not_tried", e);
      }
    }
    List<String> chosen = preloads.choice();
    if (!chosen.equals(preloads.imported())) {
      awaitQuiet();
      change.to(chosen);
    }
  }

  /** After pressure it waits until the pool makes boxes again. */
  private void awaitQuiet() throws InterruptedException {
    do {
      Deadline.in(QUIET).untilInterrupted(LOOK_AGAIN, refill::isQuiet);
    } while (refill.isPaused());
  }

  /** Ends a trial that is under way. */
  @Override
  public void close() {
    thread.interrupt();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
