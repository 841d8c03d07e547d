package dev.ebb.init;

/** Cancels a wait: set once and for all, and seen at once by the waiting thread. Thread-safe. */
public final class CallOff {
  private boolean called;
  private Runnable listener = () -> {};

  public CallOff() {}

  public synchronized boolean isCalled() {
    return called;
  }

  public void call() {
    Runnable waiter;
    synchronized (this) {
      called = true;
      waiter = listener;
    }
    waiter.run();
  }

  /** Sets the only listener; the caller must check whether it was called off before. */
  public synchronized void listen(Runnable listener) {
    this.listener = listener;
  }
}
