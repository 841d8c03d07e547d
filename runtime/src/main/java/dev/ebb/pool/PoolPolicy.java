package dev.ebb.pool;

import dev.ebb.backend.ZygotePolicy;
import dev.ebb.process.PidLimit;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How many boxes wait, and for how long.
 *
 * @param min of plain ones, also when nobody asks
 * @param max of plain ones; 0: there is no pool of them
 * @param age after which one is not handed out
 * @param interpreters how many wait at most, of each
 * @param preload what python imports before it waits
 * @param copies of what python's boxes are made; empty: one is started in each
 */
public record PoolPolicy(
    int min,
    int max,
    Duration age,
    Map<Interpreter, Integer> interpreters,
    List<String> preload,
    Optional<Copies> copies) {
  public static final Duration DEFAULT_AGE = Duration.ofMinutes(10);
  public static final PoolPolicy DEFAULT = new PoolPolicy(1, 8, DEFAULT_AGE, Map.of(), List.of());
  public static final PoolPolicy OFF = new PoolPolicy(0, 0, DEFAULT_AGE, Map.of(), List.of());

  /**
   * How long a zygote makes boxes, and how many, until another takes its place.
   *
   * @param count at most
   */
  public record Copies(Duration age, int count) {
    public static final Copies DEFAULT = new Copies(Duration.ofMinutes(10), 1000);
  }

  public PoolPolicy(
      int min,
      int max,
      Duration age,
      Map<Interpreter, Integer> interpreters,
      List<String> preload) {
    this(min, max, age, interpreters, preload, Optional.empty());
  }

  /** With interpreters that are copies of one. */
  public PoolPolicy withCopies(Copies changed) {
    return new PoolPolicy(min, max, age, interpreters, preload, Optional.of(changed));
  }

  /** The zygote of all python's boxes, if there is to be one. */
  public Optional<ZygotePolicy> zygote() {
    return copies
        .filter(_ -> interpreters.containsKey(Interpreter.PYTHON))
        .map(
            each -> new ZygotePolicy(Interpreter.PYTHON.zygote(preload), each.age(), each.count()));
  }

  /** Which part of all processes there may be the pool takes at most. */
  private static final int SHARE_OF_PIDS = 32;

  /** For those who come while the next one is made. */
  private static final double MARGIN = 2;

  public PoolPolicy {
    interpreters = Map.copyOf(interpreters);
    preload = List.copyOf(preload);
    if (min < 0 || max < min || !age.isPositive()) {
      throw new IllegalArgumentException("a pool of " + min + " to " + max + " for " + age);
    }
  }

  public boolean isOff() {
    return max == 0 && interpreters.isEmpty();
  }

  /** The most that may wait at a time where there may be no more processes than {@code limit}. */
  static int most(PidLimit limit) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, limit.max() / SHARE_OF_PIDS));
  }

  /** As many as are asked for while one is made, beyond the least. */
  static int target(int min, int max, double perSecond, Duration start) {
    double meanwhile = perSecond * start.toNanos() / 1e9;
    return (int) Math.min(max, min + Math.ceil(MARGIN * meanwhile - 0.1));
  }
}
