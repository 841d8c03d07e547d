package dev.ebb.admission;

import java.util.Locale;
import java.util.function.BooleanSupplier;

/** Something that can be given back when little is left. */
public interface Cleanup {
  /** When it is its turn: what costs nobody anything comes first. */
  enum Stage {
    SWEEP,
    WARM_BOXES,
    IDLE_BOXES,
    HISTORY;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /**
   * Gives back, one after the other.
   *
   * @param enough asked after each: no more is needed
   * @return how many were given back
   */
  int clean(BooleanSupplier enough) throws InterruptedException;
}
