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
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;

/**
 * The part of the heap that is kept on behalf of tenants. All together have a fixed part of it, and
 * no tenant may hold more than is left free for the others: one alone has half, two have a third
 * each, and there is always room for one more. Every byte is claimed before it is kept, and given
 * back when it is not. Thread-safe.
 */
public final class TenantMemory {
  /** The rest of the heap is the daemon's own, and what a collection needs. */
  private static final int PART = 2;

  /** What a string takes beside its characters. */
  private static final int STRING = 56;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final long most;
  private final OrderedLock lock = new OrderedLock(LockOrder.TENANT_MEMORY);
  private final Condition released = lock.newCondition();

  @GuardedBy("lock")
  private final Map<String, Long> held = new HashMap<>();

  @GuardedBy("lock")
  private long all;

  /** Of the tenants that work up something long. */
  @GuardedBy("lock")
  private final Map<String, Turn> turns = new HashMap<>();

  /** Gives back what a tenant can do without. */
  private volatile Consumer<String> whenShort = _ -> {};

  /** {@code most} bytes for all tenants together. */
  public TenantMemory(long most) {
    this.most = most;
  }

  /** A part of the heap of this process. */
  public static TenantMemory ofHeap() {
    return new TenantMemory(Runtime.getRuntime().maxMemory() / PART);
  }

  /**
   * From now on {@code heir} is asked to give back what a tenant can do without, before a claim of
   * that tenant is refused. It is called without any lock of this class.
   */
  public void whenShort(Consumer<String> heir) {
    whenShort = heir;
  }

  /** The most that one tenant can ever hold. */
  public long largest() {
    return most / 2;
  }

  /** What all tenants hold. */
  public long used() {
    lock.lock();
    try {
      return all;
    } finally {
      lock.unlock();
    }
  }

  /** What one tenant holds. */
  public long used(String tenant) {
    lock.lock();
    try {
      return held.getOrDefault(tenant, 0L);
    } finally {
      lock.unlock();
    }
  }

  /** What strings take in the heap, at most. */
  public static long of(Collection<String> strings) {
    long sum = 0;
    for (String each : strings) {
      sum += of(each);
    }
    return sum;
  }

  /** What a string takes in the heap, at most. */
  public static long of(String string) {
    return STRING + 2L * string.length();
  }

  /** A claim of nothing yet. */
  public Claim claim(String tenant) {
    return new Claim(tenant);
  }

  /** A claim of so much, or none: then it is refused. */
  public Claim claim(String tenant, long bytes) {
    var claim = new Claim(tenant);
    claim.add(bytes);
    return claim;
  }

  /** What is done in turn. */
  @FunctionalInterface
  public interface Work<T, E extends Exception> {
    T done() throws E;
  }

  private static final class Turn {
    final OrderedLock lock = new OrderedLock(LockOrder.TENANT_TURN);
    int users;
  }

  /**
   * Does what takes time and memory by the length of what a tenant sent: for each tenant one at a
   * time, so that no tenant has more than one processor, nor all that its requests would make of
   * the heap at once, while others wait.
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

  /** What one thing holds, from its arrival until it is closed. */
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

    /** The same; false when there is no room. Of a claim that is closed nothing is kept. */
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

    /** Adds to the claim, waiting for room; false when there is none in time. */
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

    /** Does what is long in turn with whatever else is of the same tenant. */
    public <T, E extends Exception> T inTurn(Work<T, E> work) throws E {
      return TenantMemory.this.inTurn(tenant, work);
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

    /** Gives back all but {@code bytes}. */
    public void shrinkTo(long bytes) {
      lock.lock();
      try {
        giveBack(Math.max(0, size - bytes));
      } finally {
        lock.unlock();
      }
    }

    /** Gives back so much of it. */
    public void giveBackSome(long bytes) {
      lock.lock();
      try {
        giveBack(Math.min(bytes, size));
      } finally {
        lock.unlock();
      }
    }

    /** Makes a claim of its own of all of this one. */
    public Claim handOver() {
      return split(Long.MAX_VALUE);
    }

    /** Makes a claim of its own of a part of this one, as far as this one goes. */
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
