package dev.ebb.server.rest;

import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How much of what is asked may be in memory at once: no more than a share of the heap, for whoever
 * runs out of that takes everybody along. What is short goes in anyway. Thread-safe.
 */
final class BodyRoom {
  /** What becomes of a body takes several times of it. */
  private static final int SHARE = 8;

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final long most;
  private final AtomicLong used = new AtomicLong();

  /**
   * A share of this heap.
   *
   * @param largest of one, for which there is room even in a small heap
   */
  static BodyRoom ofHeap(long largest) {
    return new BodyRoom(Math.max(largest, Runtime.getRuntime().maxMemory() / SHARE));
  }

  BodyRoom(long most) {
    this.most = most;
  }

  /** What one request holds; for one thread. */
  final class Place implements AutoCloseable {
    private final long free;
    private long size;

    /** The first {@code free} bytes take no room. */
    Place(long free) {
      this.free = free;
    }

    void add(long bytes) {
      long more = Math.max(size + bytes, free) - Math.max(size, free);
      if (used.addAndGet(more) > most) {
        used.addAndGet(-more);
        throw SandboxException.later(
            ErrorCode.PRESSURE,
            "other requests are as large as there is room for: " + most + " bytes together",
            RETRY,
            Map.of("reason", "bodies"));
      }
      size += bytes;
    }

    @Override
    public void close() {
      used.addAndGet(-(Math.max(size, free) - free));
      size = 0;
    }
  }
}
