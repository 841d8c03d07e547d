package dev.ebb.kernel;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A reentrant lock with a place in {@link LockOrder}. With assertions enabled, taking it out of
 * order throws; a thread that has to wait for it is visible to {@link LockWaits}.
 */
public final class OrderedLock extends ReentrantLock {
  private static final long serialVersionUID = 1L;

  private final LockOrder place;

  /** How often it was taken. Written by its holder only. */
  private volatile long taken;

  public OrderedLock(LockOrder place) {
    this.place = place;
  }

  LockOrder place() {
    return place;
  }

  long taken() {
    return taken;
  }

  /** The thread that holds it, null if none does. */
  Thread holder() {
    return getOwner();
  }

  @Override
  public void lock() {
    assert HeldLocks.mayTake(this, place);
    if (!super.tryLock()) {
      LockWaits.begin(this);
      try {
        super.lock();
      } finally {
        LockWaits.end();
      }
    }
    took();
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    assert HeldLocks.mayTake(this, place);
    if (Thread.currentThread().isInterrupted() || !super.tryLock()) {
      LockWaits.begin(this);
      try {
        super.lockInterruptibly();
      } finally {
        LockWaits.end();
      }
    }
    took();
  }

  /** A thread that does not wait cannot deadlock: the order does not matter. */
  @Override
  public boolean tryLock() {
    boolean isTaken = super.tryLock();
    if (isTaken) {
      took();
    }
    return isTaken;
  }

  @Override
  public boolean tryLock(long timeout, TimeUnit unit) throws InterruptedException {
    boolean isTaken = super.tryLock(timeout, unit);
    if (isTaken) {
      took();
    }
    return isTaken;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // by the holder only
  private void took() {
    taken++;
    assert HeldLocks.took(this, place);
  }

  @Override
  public void unlock() {
    super.unlock();
    assert HeldLocks.gave(this);
  }
}
