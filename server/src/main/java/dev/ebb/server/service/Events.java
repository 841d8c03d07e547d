package dev.ebb.server.service;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.TenantMemory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * What happened lately, numbered; whoever reads too slowly misses some and is told. Each tenant has
 * a ring of its own, so what one does takes nothing from the others, and admins have one of all.
 * Thread-safe.
 */
public final class Events {
  private static final int KEPT = 4096;

  /** Of one ring. */
  private static final long KEPT_BYTES = Math.min(8 << 20, Runtime.getRuntime().maxMemory() / 32);

  /** What an event takes beside what it says. */
  private static final long OVERHEAD = 200;

  /** Of one tenant, or of all admins, at a time. */
  private static final int SUBSCRIBERS_MOST = 64;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final OrderedLock lock = new OrderedLock(LockOrder.EVENTS);

  @GuardedBy("lock")
  private final Ring all;

  @GuardedBy("lock")
  private final Map<String, Ring> rings = new HashMap<>();

  /** What the numbers of this daemon lie above, and those of the one before it below. */
  private final long begin;

  @GuardedBy("lock")
  private long last;

  /** One thing that happened. */
  public record Event(long id, String tenant, String kind, Map<String, Object> data) {
    private long weight() {
      long weight = OVERHEAD;
      for (var each : data.entrySet()) {
        weight += TenantMemory.of(each.getKey());
        weight += each.getValue() instanceof String text ? TenantMemory.of(text) : OVERHEAD;
      }
      return weight;
    }
  }

  /**
   * What came after an event.
   *
   * @param missed some of it is forgotten already
   */
  public record Batch(List<Event> events, boolean missed) {}

  /** The latest of some; under the lock. */
  private final class Ring {
    private final Deque<Event> latest = new ArrayDeque<>();
    private final Condition news = lock.newCondition();
    private long bytes;
    private long forgotten = begin;
    private int subscribers;

    private void add(Event event) {
      latest.add(event);
      bytes += event.weight();
      while (latest.size() > KEPT || (bytes > KEPT_BYTES && latest.size() > 1)) {
        Event oldest = latest.remove();
        bytes -= oldest.weight();
        forgotten = oldest.id();
      }
      news.signalAll();
    }

    private boolean hasAfter(long seen) {
      return !latest.isEmpty() && latest.getLast().id() > seen;
    }

    private Batch after(long seen) {
      var events = new ArrayList<Event>();
      for (var each = latest.descendingIterator(); each.hasNext(); ) {
        Event event = each.next();
        if (event.id() <= seen) {
          break;
        }
        events.add(event);
      }
      return new Batch(events.reversed(), !events.isEmpty() && seen < forgotten);
    }
  }

  Events(Instant begun) {
    begin = TimeUnit.MILLISECONDS.toMicros(begun.toEpochMilli());
    last = begin;
    all = new Ring();
  }

  /** Publishes to the listeners of {@code tenant}; events without a tenant are for admins. */
  public void publish(String tenant, String kind, Map<String, Object> data) {
    lock.lock();
    try {
      data.put("at", Instant.now().toString());
      var event = new Event(++last, tenant, kind, Map.copyOf(data));
      all.add(event);
      ring(tenant).add(event);
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Ring ring(String tenant) {
    return rings.computeIfAbsent(tenant, _ -> new Ring());
  }

  @GuardedBy("lock")
  private Ring ring(Caller caller) {
    return caller.isAdmin() ? all : ring(caller.tenant());
  }

  /** The number of the latest. */
  public long last() {
    lock.lock();
    try {
      return last;
    } finally {
      lock.unlock();
    }
  }

  /**
   * From where whoever has seen an event goes on; after 0 comes all that there is. What an earlier
   * daemon told counts as missed.
   */
  public long after(long seen) {
    return seen == 0 || seen > last() ? begin : seen;
  }

  /** A listener, until it is closed. */
  public final class Subscription implements AutoCloseable {
    private final Caller caller;

    private Subscription(Caller caller) {
      this.caller = caller;
    }

    /**
     * Waits for something after {@code seen} that the caller may see; nothing when it has not come
     * in time.
     */
    public Batch await(long seen, Duration patience) throws InterruptedException {
      lock.lockInterruptibly();
      try {
        Ring ring = ring(caller);
        long nanos = patience.toNanos();
        while (!ring.hasAfter(seen) && nanos > 0) {
          nanos = ring.news.awaitNanos(nanos);
        }
        return ring.after(seen);
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        ring(caller).subscribers--;
      } finally {
        lock.unlock();
      }
    }
  }

  /** Begins to listen, unless too many of the same tenant do. */
  public Subscription subscribe(Caller caller) {
    lock.lock();
    try {
      Ring ring = ring(caller);
      if (ring.subscribers >= SUBSCRIBERS_MOST) {
        throw SandboxException.later(
            ErrorCode.QUOTA,
            SUBSCRIBERS_MOST + " callers of this tenant follow events already",
            RETRY,
            Map.of("reason", "subscribers"));
      }
      ring.subscribers++;
      return new Subscription(caller);
    } finally {
      lock.unlock();
    }
  }
}
