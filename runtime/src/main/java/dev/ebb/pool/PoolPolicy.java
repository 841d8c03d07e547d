package dev.ebb.pool;

import dev.ebb.backend.ZygotePolicy;
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
 * @param adaptation how the pool follows its use; empty: it always keeps what the rest says
 */
public record PoolPolicy(
    int min,
    int max,
    Duration age,
    Map<Interpreter, Integer> interpreters,
    List<String> preload,
    Optional<Copies> copies,
    Optional<Adaptation> adaptation) {
  public static final Duration DEFAULT_AGE = Duration.ofMinutes(10);

  /** Plain boxes alone, always. */
  public static final PoolPolicy FIXED = new PoolPolicy(1, 8, DEFAULT_AGE, Map.of(), List.of());

  /** Each kind of box while it is in use. */
  public static final PoolPolicy ADAPTIVE =
      new PoolPolicy(
          1,
          8,
          DEFAULT_AGE,
          Map.of(Interpreter.PYTHON, 8, Interpreter.NODE, 4),
          List.of(),
          Optional.of(Copies.DEFAULT),
          Optional.of(Adaptation.DEFAULT));

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
    this(min, max, age, interpreters, preload, Optional.empty(), Optional.empty());
  }

  /**
   * How a pool follows its use. It keeps boxes of a kind from the first request for one until none
   * was requested for a while; plain ones from its start.
   *
   * @param idle for how long a kind is kept without a request
   * @param learns whether python imports what programs import before it waits
   */
  public record Adaptation(Duration idle, boolean learns) {
    public static final Adaptation DEFAULT = new Adaptation(Duration.ofMinutes(5), true);

    public Adaptation {
      if (!idle.isPositive()) {
        throw new IllegalArgumentException("a pool that sleeps after " + idle);
      }
    }
  }

  /** Returns a copy whose interpreters are copies of a zygote. */
  public PoolPolicy withCopies(Copies changed) {
    return new PoolPolicy(min, max, age, interpreters, preload, Optional.of(changed), adaptation);
  }

  /** Returns a copy that follows its use. */
  public PoolPolicy withAdaptation(Adaptation changed) {
    return new PoolPolicy(min, max, age, interpreters, preload, copies, Optional.of(changed));
  }

  /** Returns the zygote of all python boxes, if configured, that has imported these modules. */
  public Optional<ZygotePolicy> zygote(List<String> imported) {
    return copies
        .filter(_ -> interpreters.containsKey(Interpreter.PYTHON))
        .map(
            each ->
                new ZygotePolicy(Interpreter.PYTHON.zygote(imported), each.age(), each.count()));
  }

  /** Returns whether it learns what python imports before it waits. */
  boolean learns() {
    return adaptation.filter(Adaptation::learns).isPresent()
        && interpreters.containsKey(Interpreter.PYTHON);
  }

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

  /**
   * Returns how many boxes to keep: the minimum, and as many as are requested while one is made.
   */
  static int target(int min, int max, double perSecond, Duration start) {
    double meanwhile = perSecond * start.toNanos() / 1e9;
    return (int) Math.min(max, min + Math.ceil(MARGIN * meanwhile - 0.1));
  }
}
