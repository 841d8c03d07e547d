package dev.ebb.torture;

import dev.ebb.oracle.Invariant;
import java.util.Optional;

/**
 * A violation that can be planted.
 *
 * @param lack what the host would need for it
 */
record Weed(Invariant invariant, String name, Optional<String> lack, Planting planting) {
  static Weed of(Invariant invariant, String name, Planting planting) {
    return new Weed(invariant, name, Optional.empty(), planting);
  }

  /** Returns a violation that only hosts with a certain feature allow. */
  Weed needing(boolean present, String what) {
    return present ? this : new Weed(invariant, name, Optional.of("host lacks " + what), planting);
  }

  /** Puts it there, and returns the way to take it back. */
  @FunctionalInterface
  interface Planting {
    Pulling plant() throws Exception;
  }

  /** Takes it back. */
  @FunctionalInterface
  interface Pulling {
    void pull() throws Exception;
  }
}
