package dev.ebb.kernel;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Descriptors held back for the day when there are no more. A call that fails with EMFILE spends
 * some of them and tries again, so ending things works then, too; to make no more of them is the
 * business of admission. Thread-safe. At most one a process, as the limit is.
 */
public final class Reserve implements Owned {
  /** The descriptors that ending a few boxes at once needs: a file and a directory each. */
  private static final int PORTION = 8;

  private static final AtomicReference<@Nullable Reserve> INSTALLED = new AtomicReference<>();

  private final OrderedLock lock = new OrderedLock(LockOrder.RESERVE);
  private final int size;
  private final Fd origin;

  /** Guarded by {@code lock}. */
  private final Deque<Scope> held = new ArrayDeque<>();

  private Reserve(int size, Fd origin) {
    this.size = size;
    this.origin = origin;
  }

  /**
   * Holds {@code size} descriptors back.
   *
   * <p>KERNEL: the limit is on the number of a descriptor, so these are to be taken early: the
   * numbers they free are low ones.
   */
  public static Reserve open(Scope scope, int size) throws KernelException {
    var reserve = new Reserve(size, Fd.event(scope));
    scope.own(reserve);
    if (!reserve.takeBack()) {
      throw new KernelException("hold " + size + " descriptors back", Errno.EMFILE);
    }
    if (!INSTALLED.compareAndSet(null, reserve)) {
      throw new IllegalStateException("this process has a reserve already");
    }
    return reserve;
  }

  /** Frees some descriptors, for anybody; false when there is nothing to free. */
  static boolean spend() {
    Reserve reserve = INSTALLED.get();
    return reserve != null && reserve.spendSome(PORTION) > 0;
  }

  /** Frees all of them: what the JDK opens knows nothing of a reserve. */
  public void spendAll() {
    var _ = spendSome(size);
  }

  private int spendSome(int most) {
    lock.lock();
    try {
      int spent = 0;
      while (spent < most && !held.isEmpty()) {
        close(held.pop());
        spent++;
      }
      return spent;
    } finally {
      lock.unlock();
    }
  }

  private static void close(Scope one) {
    try {
      one.close();
    } catch (KernelException e) {
      throw new AssertionError("the close of a descriptor does not fail", e);
    }
  }

  /** Holds as many as before again; false when there are not enough. */
  public boolean takeBack() throws KernelException {
    lock.lock();
    try {
      while (held.size() < size) {
        var one = new Scope();
        origin.duplicate(one, 0);
        held.push(one);
      }
      return true;
    } catch (KernelException e) {
      if (e.is(Errno.EMFILE)) {
        return false;
      }
      throw e;
    } finally {
      lock.unlock();
    }
  }

  /** How many were spent and not taken back, by whichever reserve this process has. */
  public static int spent() {
    Reserve reserve = INSTALLED.get();
    return reserve == null ? 0 : reserve.missing();
  }

  private int missing() {
    lock.lock();
    try {
      return size - held.size();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    INSTALLED.compareAndSet(this, null);
    spendAll();
  }
}
