package dev.ebb.engine;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cleanup;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.admission.PressureSettings;
import dev.ebb.admission.PressureWatch;
import dev.ebb.box.Box;
import dev.ebb.box.OwnBox;
import dev.ebb.code.CodeRequest;
import dev.ebb.code.CodeResult;
import dev.ebb.code.CodeRun;
import dev.ebb.code.Runner;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.util.function.UnaryOperator;

/**
 * Runs commands and code in boxes of their own, for a program that embeds the engine. Each run is
 * admitted first; its box is released with the answer. Thread-safe.
 */
final class OwnRuns {
  /** The tenant name of a program that embeds the engine. */
  private static final String TENANT = "";

  private final Engine engine;
  private final Scope scope = new Scope();
  private volatile AdmissionControl admission = AdmissionControl.OPEN;

  OwnRuns(Engine engine) {
    this.engine = engine;
  }

  void admit(PressureSettings settings) {
    if (!admission.equals(AdmissionControl.OPEN)) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "the engine admits its runs already");
    }
    try {
      PressureWatch watch = PressureWatch.open(scope, engine.home(), settings);
      watch.register(Cleanup.Stage.SWEEP, _ -> engine.audit(false).size());
      watch.start();
      admission = watch;
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Ends the watch of the host, if there is one. */
  void close() {
    try {
      scope.close();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  Permit admit(Cost cost) throws InterruptedException {
    return admission.admit(TENANT, cost, () -> false);
  }

  private interface Run<T> {
    /**
     * Runs in a box.
     *
     * @param permit to be closed when the first command has started: what runs waits for nothing,
     *     and must not keep others from beginning
     */
    T in(OwnBox<Box> own, Permit permit) throws IOException, InterruptedException;
  }

  private <T> T inOwnBox(BoxSpec spec, Run<T> run) throws InterruptedException {
    try (Permit permit = admit(Cost.RUN)) {
      var own = new OwnBox<>(engine::release, engine.make(spec));
      return own.removeOnFailure(() -> run.in(own, permit));
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.INTERNAL, "cannot run: " + e.getMessage(), e);
    }
  }

  RunResult run(BoxSpec boxSpec, ExecSpec execSpec) throws InterruptedException {
    return inOwnBox(
        boxSpec,
        (own, permit) -> {
          Exec exec = engine.start(own.box(), execSpec);
          permit.close();
          ExecResult result = exec.await();
          var stdout = CapturedOutput.of(exec.stdout());
          var stderr = CapturedOutput.of(exec.stderr());
          return new RunResult(result, stdout, stderr, own.remove());
        });
  }

  CodeAnswer code(BoxSpec boxSpec, CodeRequest request) throws InterruptedException {
    return inOwnBox(
        boxSpec,
        (own, permit) -> {
          var place = new EnginePlace(own.box(), permit);
          CodeResult<Exec> result =
              new CodeRun<>(place, request.task(UnaryOperator.identity())).run();
          Exec exec = result.exec();
          var stdout = CapturedOutput.of(exec.stdout());
          var stderr = CapturedOutput.of(exec.stderr());
          return new CodeAnswer(
              result.outcome(),
              exec.await().cause(),
              stdout,
              stderr,
              result.written(),
              own.remove());
        });
  }

  CodeContext context(BoxSpec boxSpec, Runner runner) throws InterruptedException {
    return inOwnBox(boxSpec, (own, _) -> CodeContext.open(own, runner));
  }
}
