package dev.ebb.pool;

import dev.ebb.model.ByteSize;
import dev.ebb.model.Fate;
import dev.ebb.model.PoolState;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The waiting boxes of one kind, the oldest first. Guarded by the lock of its pool. */
final class Shelf {
  /** How long making a box takes, as long as none was made. */
  private static final Duration GUESS = Duration.ofMillis(20);

  /** The weight of the latest box in the average. */
  private static final double LAST = 0.2;

  /** A lower rate counts as no demand. */
  private static final double IDLE_PER_SECOND = 0.05;

  private static final Duration FAILED = Duration.ofSeconds(1);
  private static final Duration FAILED_OFTEN = Duration.ofMinutes(1);

  private final Optional<Interpreter> interpreter;
  private final int min;
  private final int max;
  private final ByteSize weight;

  /** After this long without a request it keeps no box; empty: it always does. */
  private final Optional<Duration> idle;

  private long askedAt = System.nanoTime();
  private final Deque<PoolItem> items = new ArrayDeque<>();
  private final Demand demand = new Demand(System.nanoTime());
  private Duration start = GUESS;

  /** The wait after a box could not be made; boxes of other kinds perhaps can. */
  private Duration backoff = FAILED;

  private long tryAt = System.nanoTime();
  private boolean making;
  private boolean awaited;
  private long hits;
  private long misses;

  /**
   * Makes an empty shelf.
   *
   * @param weight the memory that one of its boxes takes
   * @param idle after this long without a request it keeps no box; empty: it always does
   */
  Shelf(
      Optional<Interpreter> interpreter,
      int min,
      int max,
      ByteSize weight,
      Optional<Duration> idle) {
    this.interpreter = interpreter;
    this.min = min;
    this.max = max;
    this.weight = weight;
    this.idle = idle;
    // An interpreter is worth its memory from its first use on.
    idle.filter(_ -> interpreter.isPresent()).ifPresent(time -> askedAt -= time.toNanos());
  }

  Optional<Interpreter> interpreter() {
    return interpreter;
  }

  /** Notes a request for a box. */
  void ask() {
    askedAt = System.nanoTime();
    demand.note(askedAt);
  }

  /** Returns whether it keeps no box for now, because nothing asked for one for long. */
  boolean isAsleep() {
    return idle.filter(time -> System.nanoTime() - askedAt >= time.toNanos()).isPresent();
  }

  /** Returns the memory that its boxes take. */
  long weight() {
    return items.size() * weight.bytes();
  }

  ByteSize weightOfOne() {
    return weight;
  }

  void count(boolean isHit) {
    hits += isHit ? 1 : 0;
    misses += isHit ? 0 : 1;
  }

  @Nullable PoolItem poll() {
    return items.poll();
  }

  int size() {
    return items.size();
  }

  int target() {
    return isAsleep() ? 0 : PoolPolicy.target(min, max, demand.perSecond(System.nanoTime()), start);
  }

  int missing() {
    return target() - items.size();
  }

  /**
   * Returns whether, at the present rate of requests, the boxes left will not last until the next
   * is made.
   */
  boolean isRunningOut() {
    return items.size() < PoolPolicy.target(1, max, demand.perSecond(System.nanoTime()), start);
  }

  /** Returns whether the last box could be made, or failed long enough ago. */
  boolean canTry() {
    return System.nanoTime() - tryAt >= 0;
  }

  /** Returns whether a box is being made that no caller waits for yet. */
  boolean canAwait() {
    return making && !awaited;
  }

  void await(boolean isAwaited) {
    awaited = isAwaited;
  }

  boolean isMaking() {
    return making;
  }

  void begin() {
    making = true;
  }

  /**
   * Ends the making of a box.
   *
   * @param made the box, or null if it failed
   * @param took how long it took
   */
  void end(@Nullable PoolItem made, Duration took) {
    making = false;
    if (made == null) {
      tryAt = System.nanoTime() + backoff.toNanos();
      Duration longer = backoff.multipliedBy(2);
      backoff = longer.compareTo(FAILED_OFTEN) < 0 ? longer : FAILED_OFTEN;
    } else {
      items.add(made);
      backoff = FAILED;
      start = Duration.ofNanos((long) ((1 - LAST) * start.toNanos() + LAST * took.toNanos()));
    }
  }

  /** Removes the boxes that died by themselves. */
  List<PoolItem> removeDead() {
    var dead = items.stream().filter(PoolItem::isDead).toList();
    items.removeAll(dead);
    return dead;
  }

  /**
   * Returns what is wrong with the oldest box. One more than needed may stay while there is demand.
   */
  Optional<Fate> flaw(Duration age) {
    PoolItem first = items.peek();
    if (first == null) {
      return Optional.empty();
    }
    if (first.age().compareTo(age) > 0) {
      return Optional.of(Fate.AGED);
    }
    int spare = demand.perSecond(System.nanoTime()) > IDLE_PER_SECOND ? 1 : 0;
    return missing() < -spare ? Optional.of(Fate.SURPLUS) : Optional.empty();
  }

  PoolState.Kind state() {
    Duration oldest = items.isEmpty() ? Duration.ZERO : items.getFirst().age();
    return new PoolState.Kind(
        interpreter.map(Interpreter::wireName).orElse(""),
        items.size(),
        target(),
        min,
        max,
        hits,
        misses,
        oldest,
        start,
        isAsleep());
  }
}
