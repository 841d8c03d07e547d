package dev.ebb.testkit;

import java.lang.management.ManagementFactory;
import java.util.function.IntFunction;

/**
 * Measures how the work of a parser grows with its input: the processor time of its own thread for
 * one input and for another that is eight times as long. Work in proportion to the length gives a
 * factor of eight, work in proportion to its square 64; the bound lies between both, far from
 * either. Time the thread did not run does not count.
 */
public final class WorkPerByte {
  private static final int FACTOR = 8;
  private static final int BOUND = 28;
  private static final int ROUNDS = 12;
  private static final long WARM_UP_NANOS = 25_000_000;
  private static final long TOO_LONG_NANOS = 2_000_000_000;

  /** Reads the input; a refusal is as good as a result. */
  @FunctionalInterface
  public interface Parser<T> {
    void parse(T input) throws Exception;
  }

  private WorkPerByte() {}

  /**
   * Fails when the work for each byte grows with the length.
   *
   * @param input makes a hostile input of about so many bytes
   * @param most the largest size to try
   */
  public static <T> void assertBounded(
      String what, int most, IntFunction<T> input, Parser<T> parser) {
    T small = input.apply(most / FACTOR);
    T large = input.apply(most);
    for (long spent = 0; spent < WARM_UP_NANOS; ) {
      spent += cost(what, small, parser) + cost(what, large, parser);
    }
    long leastSmall = Long.MAX_VALUE;
    long leastLarge = Long.MAX_VALUE;
    for (int i = 0; i < ROUNDS; i++) {
      leastSmall = Math.min(leastSmall, cost(what, small, parser));
      leastLarge = Math.min(leastLarge, cost(what, large, parser));
    }
    if (leastLarge > BOUND * Math.max(leastSmall, 1)) {
      throw new AssertionError(
          "%s: %d bytes took %d ns, %d bytes %d ns: more work for each byte of a longer input"
              .formatted(what, most / FACTOR, leastSmall, most, leastLarge));
    }
  }

  /** The least processor time of many rounds, in ns. */
  public static <T> long least(String what, T input, Parser<T> parser) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 2 * ROUNDS; i++) {
      least = Math.min(least, cost(what, input, parser));
    }
    return least;
  }

  private static <T> long cost(String what, T input, Parser<T> parser) {
    var threads = ManagementFactory.getThreadMXBean();
    long begin = threads.getCurrentThreadCpuTime();
    try {
      parser.parse(input);
    } catch (Exception e) {
      // Refused: that is what a hostile input deserves.
    }
    long spent = threads.getCurrentThreadCpuTime() - begin;
    if (spent > TOO_LONG_NANOS) {
      throw new AssertionError(what + ": one input took " + spent / 1_000_000 + " ms");
    }
    return Math.max(1, spent);
  }
}
