package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.ledger.Ledger;

/** Parts of a box that only tests of other packages look at. */
public final class Insides {
  private Insides() {}

  public static Enclosure enclosure(Box box) {
    return box.parts().enclosure();
  }

  public static Ledger ledger(Box box) {
    return box.parts().host().instance().ledger();
  }
}
