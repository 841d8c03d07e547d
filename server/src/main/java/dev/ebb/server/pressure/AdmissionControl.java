package dev.ebb.server.pressure;

import dev.ebb.model.SandboxException;
import dev.ebb.pressure.Cost;
import dev.ebb.pressure.Permit;
import java.time.Instant;
import java.util.function.BooleanSupplier;

/** Whoever wants to begin something asks here first. */
public interface AdmissionControl {
  /** Nobody waits, nobody is refused. */
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
