package dev.ebb.server.service.access;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;

/**
 * The part of the heap that is kept on behalf of tenants. All tenants share a fixed part, and none
 * may hold more than is left free for the others: one alone has half, two have a third each, and
 * there is always room for one more. Every byte is claimed before it is kept, and released
 * afterwards. Thread-safe.
 */
public final class TenantMemory {
  /** The rest of the heap is for the daemon itself and for garbage collection. */
  private static final int PART = 2;

  /** The memory of a string beside its characters. */
  private static final int STRING = 56;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final long most;
  private final OrderedLock lock = new OrderedLock(LockOrder.TENANT_MEMORY);
  private final Condition released = lock.newCondition();

  @GuardedBy("lock")
  private final Map<String, Long> held = new HashMap<>();

  @GuardedBy("lock")
  private long all;

  /** Locks of the tenants with long work. */
  @GuardedBy("lock")
  private final Map<String, Turn> turns = new HashMap<>();

  /** Releases memory that a tenant can do without. */
  private volatile Consumer<String> whenShort = _ -> {};

  /** Allows {@code most} bytes for all tenants together. */
  public TenantMemory(long most) {
    this.most = most;
  }

  /** Uses a part of the heap of this process. */
  public static TenantMemory ofHeap() {
    return new TenantMemory(Runtime.getRuntime().maxMemory() / PART);
  }

  /**
   * Sets a callback that releases memory of a tenant before a claim of that tenant is refused. It
   * is called without any lock of this class.
   */
  public void whenShort(Consumer<String> heir) {
    whenShort = heir;
  }

  /** Returns the most that one tenant can ever hold. */
  public long largest() {
    return most / 2;
  }

  /** Returns how much all tenants hold. */
  public long used() {
    lock.lock();
    try {
      return all;
    } finally {
      lock.unlock();
    }
  }

  /** Returns how much one tenant holds. */
  public long used(String tenant) {
    lock.lock();
    try {
      return held.getOrDefault(tenant, 0L);
    } finally {
      lock.unlock();
    }
  }

  /** Returns how much heap strings take at most. */
  public static long of(Collection<String> strings) {
    long sum = 0;
    for (String each : strings) {
      sum += of(each);
    }
    return sum;
  }

  /** Returns how much heap a string takes at most. */
  public static long of(String string) {
    return STRING + 2L * string.length();
  }

  /** Opens an empty claim. */
  public Claim claim(String tenant) {
    return new Claim(tenant);
  }

  /** Claims so many bytes, or throws. */
  public Claim claim(String tenant, long bytes) {
    var claim = new Claim(tenant);
    claim.add(bytes);
    return claim;
  }

  /** Work that is done one at a time. */
  @FunctionalInterface
  public interface Work<T, E extends Exception> {
    T done() throws E;
  }

  private static final class Turn {
    final OrderedLock lock = new OrderedLock(LockOrder.TENANT_TURN);
    final Semaphore place = new Semaphore(1, true);
    int users;
  }

  /**
   * Does work whose time and memory depend on the length of a tenant's input. Each tenant does one
   * such work at a time, so that no tenant takes more than one processor, or the heap for all its
   * requests at once, while others wait.
   */
  <T, E extends Exception> T inTurn(String tenant, Work<T, E> work) throws E {
    Turn turn = join(tenant);
    try {
      turn.lock.lock();
      try {
        return work.done();
      } finally {
        turn.lock.unlock();
      }
    } finally {
      leave(tenant, turn);
    }
  }

  /** A tenant's place for work that may wait for its client; closing it leaves the place. */
  public final class Place implements AutoCloseable {
    private final String tenant;
    private final Turn turn;
    private final boolean taken;

    private Place(String tenant, Duration patience) {
      this.tenant = tenant;
      turn = join(tenant);
      taken = isFree(turn.place, patience);
    }

    private static boolean isFree(Semaphore place, Duration patience) {
      try {
        return place.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }

    @Override
    public void close() {
      if (taken) {
        turn.place.release();
      }
      leave(tenant, turn);
    }
  }

  private Turn join(String tenant) {
    lock.lock();
    try {
      Turn turn = turns.computeIfAbsent(tenant, _ -> new Turn());
      turn.users++;
      return turn;
    } finally {
      lock.unlock();
    }
  }

  private void leave(String tenant, Turn turn) {
    lock.lock();
    try {
      turn.users--;
      if (turn.users == 0) {
        turns.remove(tenant);
      }
    } finally {
      lock.unlock();
    }
  }

  /** The memory of one object, from its arrival until the claim is closed. */
  public final class Claim implements AutoCloseable {
    private final String tenant;

    @GuardedBy("lock")
    private long size;

    @GuardedBy("lock")
    private boolean closed;

    private Claim(String tenant) {
      this(tenant, 0);
    }

    private Claim(String tenant, long size) {
      this.tenant = tenant;
      this.size = size;
    }

    /** Claims more, or throws and claims nothing. */
    public void add(long bytes) {
      if (tryAdd(bytes)) {
        return;
      }
      if (bytes > largest()) {
        throw new SandboxException(
            ErrorCode.TOO_LARGE,
            "this takes %d bytes of the server's memory; a tenant can have %d"
                .formatted(bytes, largest()));
      }
      whenShort.accept(tenant);
      if (!tryAdd(bytes)) {
        throw refusal(bytes);
      }
    }

    /** Claims more; returns false if there is no room. A closed claim keeps nothing. */
    public boolean tryAdd(long bytes) {
      lock.lock();
      try {
        long mine = held.getOrDefault(tenant, 0L) + bytes;
        if (closed || mine > most - all - bytes) {
          return false;
        }
        size += bytes;
        all += bytes;
        held.put(tenant, mine);
        return true;
      } finally {
        lock.unlock();
      }
    }

    /** Claims more, waiting for room; returns false on a timeout. */
    public boolean tryAdd(long bytes, Duration patience) throws InterruptedException {
      long nanos = patience.toNanos();
      lock.lockInterruptibly();
      try {
        while (!tryAdd(bytes)) {
          if (closed || nanos <= 0 || bytes > largest()) {
            return false;
          }
          nanos = released.awaitNanos(nanos);
        }
        return true;
      } finally {
        lock.unlock();
      }
    }

    /** Does long work, one at a time per tenant. */
    public <T, E extends Exception> T inTurn(Work<T, E> work) throws E {
      return TenantMemory.this.inTurn(tenant, work);
    }

    /**
     * Waits until no other such work of the tenant is in progress, or for so long: work that waits
     * for a slow client holds up the others no longer than that.
     */
    public Place place(Duration patience) {
      return new Place(tenant, patience);
    }

    private SandboxException refusal(long bytes) {
      long mine = used(tenant);
      boolean isOwnDoing = mine + bytes > largest();
      return SandboxException.later(
          isOwnDoing ? ErrorCode.QUOTA : ErrorCode.PRESSURE,
          isOwnDoing
              ? "what is kept for this tenant takes %d bytes of the server's memory, of %d that it can have"
                  .formatted(mine, largest())
              : "what is kept for all tenants takes %d bytes of the server's memory, of %d"
                  .formatted(used(), most),
          RETRY,
          Map.of("reason", "memory"));
    }

    /** Releases all but {@code bytes}. */
    public void shrinkTo(long bytes) {
      lock.lock();
      try {
        giveBack(Math.max(0, size - bytes));
      } finally {
        lock.unlock();
      }
    }

    /** Releases so many bytes. */
    public void giveBackSome(long bytes) {
      lock.lock();
      try {
        giveBack(Math.min(bytes, size));
      } finally {
        lock.unlock();
      }
    }

    /** Moves all bytes to a separate claim. */
    public Claim handOver() {
      return split(Long.MAX_VALUE);
    }

    /** Moves some bytes, as far as this claim has them, to a separate claim. */
    public Claim split(long bytes) {
      lock.lock();
      try {
        long taken = Math.min(bytes, size);
        size -= taken;
        return new Claim(tenant, taken);
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        closed = true;
        giveBack(size);
      } finally {
        lock.unlock();
      }
    }

    @GuardedBy("lock")
    private void giveBack(long bytes) {
      if (bytes == 0) {
        return;
      }
      size -= bytes;
      all -= bytes;
      held.merge(tenant, -bytes, (was, less) -> was + less == 0 ? null : was + less);
      released.signalAll();
    }
  }
}
