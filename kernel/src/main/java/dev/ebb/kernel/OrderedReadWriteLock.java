package dev.ebb.kernel;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A read-write lock with a place in {@link LockOrder}, which holds for both sides. With assertions
 * enabled, taking it out of order throws.
 */
public final class OrderedReadWriteLock implements ReadWriteLock {
  private final Lock readSide;
  private final Lock writeSide;

  public OrderedReadWriteLock(LockOrder place) {
    var lock = new ReentrantReadWriteLock();
    readSide = new Side(lock.readLock(), place);
    writeSide = new Side(lock.writeLock(), place);
  }

  @Override
  public Lock readLock() {
    return readSide;
  }

  @Override
  public Lock writeLock() {
    return writeSide;
  }

  private record Side(Lock plain, LockOrder place) implements Lock {
    @Override
    public void lock() {
      assert HeldLocks.mayTake(this, place);
      plain.lock();
      assert HeldLocks.took(this, place);
    }

    @Override
    public boolean tryLock() {
      boolean isTaken = plain.tryLock();
      assert !isTaken || HeldLocks.took(this, place);
      return isTaken;
    }

    @Override
    public void unlock() {
      plain.unlock();
      assert HeldLocks.gave(this);
    }

    @Override
    public void lockInterruptibly() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean tryLock(long timeout, TimeUnit unit) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Condition newCondition() {
      throw new UnsupportedOperationException();
    }
  }
}
