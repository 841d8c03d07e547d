package dev.ebb.admission;

import java.util.Locale;
import java.util.function.BooleanSupplier;

/** A way to give resources back when little is left. */
public interface Cleanup {
  /** The order of cleanups: those that cost no caller anything come first. */
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
   * Gives back one item after another.
   *
   * @param enough asked after each item; true ends the cleanup
   * @return how many items were given back
   */
  int clean(BooleanSupplier enough) throws InterruptedException;
}
