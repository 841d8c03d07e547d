package dev.ebb.server.boxes;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What happened lately, numbered; whoever reads too slowly misses some and is told. Thread-safe.
 */
public final class Events {
  private static final int KEPT = 4096;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition news = lock.newCondition();
  private final Deque<Event> latest = new ArrayDeque<>();

  /** What the numbers of this daemon lie above, and those of the one before it below. */
  private final long begin;

  @GuardedBy("lock")
  private long last;

  /** One thing that happened. */
  public record Event(long id, String tenant, String kind, Map<String, Object> data) {}

  /**
   * What came after an event.
   *
   * @param missed some of it is forgotten already
   */
  public record Batch(List<Event> events, boolean missed) {}

  Events(Instant begun) {
    begin = TimeUnit.MILLISECONDS.toMicros(begun.toEpochMilli());
    last = begin;
  }

  /** Tells those who may see what is {@code tenant}'s; nobody's is for admins. */
  public void publish(String tenant, String kind, Map<String, Object> data) {
    lock.lock();
    try {
      data.put("at", Instant.now().toString());
      latest.add(new Event(++last, tenant, kind, Map.copyOf(data)));
      if (latest.size() > KEPT) {
        latest.remove();
      }
      news.signalAll();
    } finally {
      lock.unlock();
    }
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

  /** Waits for something after {@code seen}; nothing when it has not come in time. */
  public Batch await(long seen, Duration patience) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long nanos = patience.toNanos();
      while (last <= seen && nanos > 0) {
        nanos = news.awaitNanos(nanos);
      }
      var events = latest.stream().filter(event -> event.id() > seen).toList();
      return new Batch(events, !events.isEmpty() && events.getFirst().id() > seen + 1);
    } finally {
      lock.unlock();
    }
  }
}
