package dev.ebb.init;

/**
 * Whether something is wanted no longer: said once and for all, and heard at once by whoever waits
 * for it. Thread-safe.
 */
public final class CallOff {
  private boolean called;
  private Runnable listener = () -> {};

  public CallOff() {}

  public synchronized boolean isCalled() {
    return called;
  }

  public void call() {
    Runnable told;
    synchronized (this) {
      called = true;
      told = listener;
    }
    told.run();
  }

  /** Has {@code listener}, and nobody else, hear of it; who comes too late asks. */
  public synchronized void listen(Runnable listener) {
    this.listener = listener;
  }
}
