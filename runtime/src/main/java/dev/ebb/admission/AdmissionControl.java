package dev.ebb.admission;

import dev.ebb.model.SandboxException;
import java.time.Instant;
import java.util.function.BooleanSupplier;

/** Admits the start of a box or of a command on this host. */
public interface AdmissionControl {
  /** Admits everything at once. */
  AdmissionControl OPEN =
      new AdmissionControl() {
        @Override
        public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) {
          return () -> {};
        }

        @Override
        public int fitting(Cost each, int part) {
          return Integer.MAX_VALUE;
        }

        @Override
        public SandboxException explain(SandboxException failure, Instant begun) {
          return failure;
        }
      };

  /**
   * Waits for room if there is little; makes nothing when it refuses.
   *
   * @param hasLeft whether the caller has left meanwhile
   */
  Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) throws InterruptedException;

  /** Returns how many of this cost fit into one of {@code part} equal parts of every limit. */
  int fitting(Cost each, int part);

  /**
   * Explains why something begun at {@code begun} could not be made: perhaps a resource ran out.
   */
  SandboxException explain(SandboxException failure, Instant begun);
}
