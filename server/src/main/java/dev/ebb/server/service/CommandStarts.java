package dev.ebb.server.service;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Starts processes in boxes when there is room: commands, interpreters of contexts, and helpers for
 * files. Thread-safe.
 */
final class CommandStarts {
  private static final Cost FILES = Cost.COMMAND;

  private final AdmissionControl admission;
  private final TenantUse use;

  CommandStarts(AdmissionControl admission, TenantUse use) {
    this.admission = admission;
    this.use = use;
  }

  /**
   * Starts a command when there is room; the caller awaits its end.
   *
   * @param input everything that it is to read, for {@link TenantExec#feed}
   */
  TenantExec start(TenantBox box, ExecSpec spec, Optional<byte[]> input, BooleanSupplier hasLeft)
      throws InterruptedException {
    if (spec.operator()) {
      // An operator must get in when the host is short of something.
      return box.startUnawaited(spec, input);
    }
    try (Permit _ = admission.admit(box.tenant(), Cost.COMMAND, hasLeft)) {
      return startAdmitted(box, spec, input);
    }
  }

  /** Starts a command that was already admitted, perhaps with its box. */
  TenantExec startAdmitted(TenantBox box, ExecSpec spec, Optional<byte[]> input)
      throws InterruptedException {
    Instant begun = Instant.now();
    use.beginStart(box.tenant());
    try {
      return box.startUnawaited(spec, input);
    } catch (SandboxException e) {
      throw admission.explain(e, begun);
    } finally {
      use.endStart(box.tenant());
    }
  }

  /** Starts the interpreter of a context, and waits until it runs. */
  TenantExec startInterpreter(TenantBox box, TenantContext.Order order, BooleanSupplier hasLeft)
      throws InterruptedException {
    TenantExec exec = start(box, order.spec(), Optional.empty(), hasLeft);
    box.awaitEndAsync(exec);
    exec.awaitStart();
    requireBegun(exec);
    return exec;
  }

  /** Throws the reason if a command could not begin. */
  void requireBegun(TenantExec exec) {
    if (exec.ending().orElse(null) instanceof TenantExec.Ending.Refused(var reason, _)) {
      throw explain(reason, exec);
    }
  }

  SandboxException explain(SandboxException failure, TenantExec exec) {
    return admission.explain(failure, exec.startedAt());
  }

  /** Works with the files of a box, which starts a short-lived process in it. */
  void useFiles(TenantBox box, TenantBox.Work work, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    Instant begun = Instant.now();
    // The caller decides how long it lasts: it is counted until the next reading sees it.
    admission.admit(box.tenant(), FILES, hasLeft).close();
    try {
      box.use(work);
    } catch (SandboxException e) {
      throw admission.explain(e, begun);
    }
  }
}
