package dev.ebb.acceptance;

import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Reaps the orphans that fall to this JVM, as a good pid 1 does. */
final class Undertaker implements AutoCloseable {
  private static final long ROUND_MILLIS = 5;

  private final Thread thread = Thread.ofPlatform().name("undertaker").start(this::work);

  private void work() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        TestHost.reapOrphans();
        TimeUnit.MILLISECONDS.sleep(ROUND_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException | KernelException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
