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
 * The remaining output of a stopped box, once its object is no longer needed.
 *
 * @param lines its last lines on the ledger
 * @param isDetached whether it is left to the next engine
 * @param proof the certificate that nothing else is left of it
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

  /** Takes over the output of a box that is gone. */
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

  /** Removes it; the certificate names what could not be removed. */
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
