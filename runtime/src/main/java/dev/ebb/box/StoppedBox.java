package dev.ebb.box;

import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.Certificate;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.store.LogDirectory;
import java.util.List;

/**
 * What a stopped box has left to read, once its object is not needed any more.
 *
 * @param lines its last lines on the ledger
 * @param isDetached it is left to the next engine
 * @param proof that nothing else is left of it
 */
public record StoppedBox(
    BoxId id,
    LogDirectory logs,
    Ledger ledger,
    List<Holding> lines,
    boolean isDetached,
    Certificate proof) {
  public StoppedBox {
    lines = List.copyOf(lines);
  }

  /** Of a box that is gone. */
  public static StoppedBox of(Box box) {
    BoxDirectory directory = box.parts().directory();
    return new StoppedBox(
        box.id(),
        directory.logs(),
        box.parts().host().instance().ledger(),
        directory.lines(),
        box.isDetached(),
        box.certificate().orElseThrow());
  }

  /** Removes it; the certificate names what cannot be removed now. */
  public Certificate forget() {
    try {
      if (!lines.isEmpty()) {
        Step.REMOVE_LOGS.reach();
        logs.remove();
        Step.STRIKE_LOGS.reach();
        ledger.strike(lines);
      }
      return proof;
    } catch (KernelException | RuntimeException e) {
      return proof.butStuck(
          Kind.DIRECTORY, logs.path().toString(), BoxDirectory.whyItStays(logs.path(), e));
    }
  }
}
