package dev.ebb.server.service;

import dev.ebb.kernel.ProcessClock;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * When a box is to be ended: its time to live and its idle timeout. Time in which this daemon did
 * not run does not count, except for the time to live of a detached box, which its init counts
 * without any daemon. Thread-safe.
 */
final class BoxTimes {
  private final BoxOrder order;
  private final Instant createdAt;
  private final Duration stalledBefore = ProcessClock.stalled();
  private final AtomicInteger users = new AtomicInteger();
  private volatile long usedAt = ProcessClock.nanos();

  BoxTimes(BoxOrder order, Instant createdAt) {
    this.order = order;
    this.createdAt = createdAt;
  }

  /** Notes that a request uses the box now. */
  void use() {
    usedAt = ProcessClock.nanos();
  }

  /** Does work; the box is not idle until it is done. */
  void use(TenantBox.Work work) throws IOException, InterruptedException {
    users.incrementAndGet();
    try {
      work.run();
    } finally {
      use();
      users.decrementAndGet();
    }
  }

  boolean isBeingUsed() {
    return users.get() > 0;
  }

  /** Returns when the box was used last, on the {@link ProcessClock}. */
  long usedAt() {
    return usedAt;
  }

  /** Returns when its time to live is over, as far as that is known now. */
  Optional<Instant> expiresAt() {
    Duration stalled =
        order.detached() ? Duration.ZERO : ProcessClock.stalled().minus(stalledBefore);
    return order.ttl().map(ttl -> createdAt.plus(ttl).plus(stalled));
  }

  boolean isOverdue(Instant now) {
    return expiresAt().filter(now::isAfter).isPresent();
  }

  boolean isIdle() {
    Duration unused = ProcessClock.since(usedAt);
    return order.idleTimeout().filter(idle -> unused.compareTo(idle) > 0).isPresent();
  }
}
