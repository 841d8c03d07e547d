package dev.ebb.kernel;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;

/**
 * The monotonic clock of this process: it stands still while the process does not run, because it
 * was stopped, starved of processor time, or its machine was suspended.
 *
 * <p>Every look at the clock advances it, by {@link #MOST} at most. A living {@link Poller} looks
 * every {@link #BEAT}, so in a process that runs no time is lost; a longer gap means that nothing
 * ran. Without a poller there are no regular looks, and the clock is the system's. Thread-safe.
 */
public final class ProcessClock {
  /** How often a poller looks at the clock. */
  static final Duration BEAT = Duration.ofMillis(500);

  /** The longest time between two looks that counts in full. */
  static final Duration MOST = Duration.ofSeconds(1);

  /** Looks closer together than this share one mark. */
  private static final long FINE_NANOS = 20_000_000;

  private static final ProcessClock OURS = new ProcessClock(System::nanoTime);

  private final LongSupplier system;
  private final AtomicReference<Mark> mark;
  private final AtomicInteger beating = new AtomicInteger();

  /**
   * The last look.
   *
   * @param at by the system's clock
   * @param ran by this clock
   */
  private record Mark(long at, long ran) {}

  ProcessClock(LongSupplier system) {
    this.system = system;
    long now = system.getAsLong();
    mark = new AtomicReference<>(new Mark(now, now));
  }

  /**
   * Nanoseconds in which this process ran; like {@link System#nanoTime}, only differences mean
   * anything.
   */
  public static long nanos() {
    return OURS.look();
  }

  /** Returns how long this process ran since {@code nanos}. */
  public static Duration since(long nanos) {
    return Duration.ofNanos(nanos() - nanos);
  }

  /** Returns how long this process has not run so far. */
  public static Duration stalled() {
    return OURS.stood();
  }

  /** This clock as an {@code InstantSource}, to compare instants; they are not dates. */
  public static InstantSource instants() {
    return () -> Instant.EPOCH.plusNanos(nanos());
  }

  /** Advances the clock; a thread that always runs calls this now and then. */
  public static void beat() {
    OURS.look();
  }

  /** Begins the regular looks: from now on a thread looks every {@link #BEAT}. */
  static void beginBeating() {
    OURS.begin();
  }

  static void endBeating() {
    OURS.end();
  }

  void begin() {
    // ORDER: the time before counts in full.
    look();
    beating.incrementAndGet();
  }

  void end() {
    look();
    beating.decrementAndGet();
  }

  long look() {
    while (true) {
      Mark last = mark.get();
      long now = system.getAsLong();
      long gap = Math.max(0, now - last.at);
      long counted = beating.get() > 0 ? Math.min(gap, MOST.toNanos()) : gap;
      if (gap < FINE_NANOS || mark.compareAndSet(last, new Mark(now, last.ran + counted))) {
        return last.ran + counted;
      }
    }
  }

  Duration stood() {
    look();
    Mark last = mark.get();
    return Duration.ofNanos(last.at - last.ran);
  }
}
