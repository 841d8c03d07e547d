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
 * @param min of plain boxes, even without demand
 * @param max of plain boxes; 0: no pool of them
 * @param age the age after which a box is not handed out
 * @param interpreters how many boxes may wait for each
 * @param preload what python imports before it waits
 * @param copies the zygotes of python's boxes; empty: an interpreter is started in each box
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
   * How long a zygote makes boxes, and how many, before it is replaced.
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

  /** Returns a copy whose interpreters are copies of a zygote. */
  public PoolPolicy withCopies(Copies changed) {
    return new PoolPolicy(min, max, age, interpreters, preload, Optional.of(changed));
  }

  /** Returns the zygote of all python boxes, if configured. */
  public Optional<ZygotePolicy> zygote() {
    return copies
        .filter(_ -> interpreters.containsKey(Interpreter.PYTHON))
        .map(
            each -> new ZygotePolicy(Interpreter.PYTHON.zygote(preload), each.age(), each.count()));
  }

  /** The pool takes at most one part in this many of the process limit. */
  private static final int SHARE_OF_PIDS = 32;

  /** The margin for callers that come while the next box is made. */
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

  /** Returns how many boxes may wait at a time under a process limit of {@code limit}. */
  static int most(PidLimit limit) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, limit.max() / SHARE_OF_PIDS));
  }

  /**
   * Returns how many boxes to keep: the minimum, and as many as are requested while one is made.
   */
  static int target(int min, int max, double perSecond, Duration start) {
    double meanwhile = perSecond * start.toNanos() / 1e9;
    return (int) Math.min(max, min + Math.ceil(MARGIN * meanwhile - 0.1));
  }
}
