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

  /** Sets the only listener; if it was called off before, the caller must ask. */
  public synchronized void listen(Runnable listener) {
    this.listener = listener;
  }
}
