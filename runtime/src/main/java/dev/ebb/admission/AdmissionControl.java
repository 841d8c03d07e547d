package dev.ebb.admission;

import dev.ebb.model.SandboxException;
import java.time.Instant;
import java.util.function.BooleanSupplier;

/** Admits what begins on this host: a box, a command. */
public interface AdmissionControl {
  /** Admits everything at once. */
  AdmissionControl OPEN =
      new AdmissionControl() {
        @Override
        public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) {
          return () -> {};
        }

        @Override
        public SandboxException explain(SandboxException failure, Instant begun) {
          return failure;
        }
      };

  /**
   * Waits for room, if there is little; nothing is made of what is refused.
   *
   * @param hasLeft whether the caller has gone meanwhile
   */
  Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) throws InterruptedException;

  /** What could not be made since {@code begun}: perhaps because something ran out meanwhile. */
  SandboxException explain(SandboxException failure, Instant begun);
}
