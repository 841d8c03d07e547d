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
 * The latest events, numbered; a slow reader misses some and is notified of the gap. Each tenant
 * has a ring of its own, so one tenant cannot push out the events of others, and admins have one of
 * all. Thread-safe.
 */
public final class Events {
  private static final int KEPT = 4096;

  /** The most bytes of one ring. */
  private static final long KEPT_BYTES = Math.min(8 << 20, Runtime.getRuntime().maxMemory() / 32);

  /** The memory of an event beyond its text. */
  private static final long OVERHEAD = 200;

  /** The most subscribers of one tenant, or of all admins. */
  private static final int SUBSCRIBERS_MOST = 64;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final OrderedLock lock = new OrderedLock(LockOrder.EVENTS);

  @GuardedBy("lock")
  private final Ring all;

  @GuardedBy("lock")
  private final Map<String, Ring> rings = new HashMap<>();

  /** Separates the numbers of this daemon, above it, from those of the one before. */
  private final long begin;

  @GuardedBy("lock")
  private long last;

  /** One event. */
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
   * The events after a given one.
   *
   * @param missed whether some of them were dropped already
   */
  public record Batch(List<Event> events, boolean missed) {}

  /** The latest events of one reader group; guarded by the lock. */
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

  /** Returns the number of the latest event. */
  public long last() {
    lock.lock();
    try {
      return last;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns where a reader continues that has seen an event; 0 means from the oldest. Events of an
   * earlier daemon count as missed.
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
     * Waits for events after {@code seen} that the caller may see; returns none if the time is up.
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

  /** Begins to listen, unless the tenant has too many subscribers. */
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
