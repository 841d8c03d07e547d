package dev.ebb.pool;

/** The recent rate of requests. Not thread-safe. */
final class Demand {
  /** Requests longer ago than this count for a third or less. */
  private static final double MEMORY_NANOS = 3e9;

  private double perSecond;
  private long at;

  Demand(long nanoTime) {
    at = nanoTime;
  }

  void note(long nanoTime) {
    perSecond = perSecond(nanoTime) + 1e9 / MEMORY_NANOS;
    at = nanoTime;
  }

  double perSecond(long nanoTime) {
    return perSecond * Math.exp(-Math.max(0, nanoTime - at) / MEMORY_NANOS);
  }
}
