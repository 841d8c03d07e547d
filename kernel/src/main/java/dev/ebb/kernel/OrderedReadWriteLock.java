package dev.ebb.kernel;

import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A read-write lock with a place in {@link LockOrder}, which holds for both sides. With assertions
 * enabled, taking it out of order throws.
 */
public final class OrderedReadWriteLock extends ReentrantReadWriteLock {
  private static final long serialVersionUID = 1L;

  private final ReadSide readSide;
  private final WriteSide writeSide;

  public OrderedReadWriteLock(LockOrder place) {
    readSide = new ReadSide(this, place);
    writeSide = new WriteSide(this, place);
  }

  @Override
  public ReadLock readLock() {
    return readSide;
  }

  @Override
  public WriteLock writeLock() {
    return writeSide;
  }

  private static final class ReadSide extends ReadLock {
    private static final long serialVersionUID = 1L;

    private final LockOrder place;

    private ReadSide(ReentrantReadWriteLock whole, LockOrder place) {
      super(whole);
      this.place = place;
    }

    @Override
    public void lock() {
      assert HeldLocks.mayTake(this, place);
      super.lock();
      assert HeldLocks.took(this, place);
    }

    @Override
    public boolean tryLock() {
      boolean isTaken = super.tryLock();
      assert !isTaken || HeldLocks.took(this, place);
      return isTaken;
    }

    @Override
    public void unlock() {
      super.unlock();
      assert HeldLocks.gave(this);
    }
  }

  private static final class WriteSide extends WriteLock {
    private static final long serialVersionUID = 1L;

    private final LockOrder place;

    private WriteSide(ReentrantReadWriteLock whole, LockOrder place) {
      super(whole);
      this.place = place;
    }

    @Override
    public void lock() {
      assert HeldLocks.mayTake(this, place);
      super.lock();
      assert HeldLocks.took(this, place);
    }

    @Override
    public boolean tryLock() {
      boolean isTaken = super.tryLock();
      assert !isTaken || HeldLocks.took(this, place);
      return isTaken;
    }

    @Override
    public void unlock() {
      super.unlock();
      assert HeldLocks.gave(this);
    }
  }
}
