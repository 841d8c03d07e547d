package dev.ebb.model;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The boxes that a pool holds, and the counts of those it destroyed.
 *
 * @param kinds plain boxes first
 * @param most the most boxes that may wait in all
 * @param unfit the number of requests that no pooled box could serve
 * @param destroyed boxes destroyed before they were handed out, by reason
 * @param memory the most memory that waiting boxes may take, by what a box of each kind usually
 *     takes
 * @param preloaded the modules that python imports before it waits
 */
public record PoolState(
    List<Kind> kinds,
    int most,
    long unfit,
    Map<Fate, Long> destroyed,
    ByteSize memory,
    List<String> preloaded) {
  public PoolState {
    kinds = List.copyOf(kinds);
    preloaded = List.copyOf(preloaded);
    destroyed = Map.copyOf(destroyed);
  }

  /**
   * The boxes of one kind.
   *
   * @param interpreter empty: none
   * @param oldest zero: there is none
   * @param start how long it takes to make one
   * @param asleep whether none is kept, because none was requested for long
   */
  public record Kind(
      String interpreter,
      int size,
      int target,
      int min,
      int max,
      long hits,
      long misses,
      Duration oldest,
      Duration start,
      boolean asleep) {}
}
