package dev.ebb.server.answer;

import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.TenantExec;
import java.util.List;
import java.util.Optional;

/**
 * The state of a command at one moment.
 *
 * @param unread stored output that can no longer be read, and is lost as well
 * @param isCut whether there is more output than the answer holds
 */
public record ExecState(
    TenantExec exec, Optional<TenantExec.Ending> ending, OutputLoss unread, boolean isCut) {
  public static ExecState of(TenantExec exec) {
    return new ExecState(exec, exec.ending(), OutputLoss.NONE, false);
  }

  public ExecState without(OutputLoss more) {
    return new ExecState(exec, ending, unread.plus(more), isCut);
  }

  public ExecState cut() {
    return new ExecState(exec, ending, unread, true);
  }

  public String wireName() {
    return ending.isPresent() ? "ended" : "running";
  }

  public Optional<Integer> pid() {
    return exec.view().pid().stream().boxed().findFirst();
  }

  /** RACE: its box may end meanwhile, and with it the cgroup that shows this. */
  public List<Integer> pidsNow() {
    try {
      return exec.view().pids();
    } catch (SandboxException e) {
      if (exec.box().state().isAlive()) {
        throw e;
      }
      return List.of();
    }
  }

  public List<Number> pids() {
    return ending.isPresent() ? List.of() : List.copyOf(pidsNow());
  }

  public Optional<ExecResult> result() {
    return ending.orElse(null) instanceof TenantExec.Ending.Result(var result, _)
        ? Optional.of(result)
        : Optional.empty();
  }

  /** A command with missing output did not succeed. */
  public Optional<ExitCause> cause() {
    return ending.map(
        how ->
            switch (how) {
              case TenantExec.Ending.Result(var result, _) -> cause(result.cause());
              case TenantExec.Ending.Refused(var reason, _) ->
                  new ExitCause.NotStarted(
                      ExitCause.FAILURE_CODE, String.valueOf(reason.getMessage()));
            });
  }

  private ExitCause cause(ExitCause cause) {
    return unread.isAny() && cause.status().equals("exited")
        ? new ExitCause.OutputLost(new ExitCause.Exit(cause.code(), 0))
        : cause;
  }

  public Optional<Boolean> truncated() {
    return result()
        .map(result -> result.truncated() || isCut)
        .or(() -> Optional.of(true).filter(_ -> isCut));
  }

  /** Present when an earlier daemon ended before the caller ended the input. */
  public Optional<Boolean> isInputCut() {
    return Optional.of(exec.view().isInputCut()).filter(isCut -> isCut);
  }

  public Optional<OutputLoss> lost() {
    OutputLoss stored = result().map(ExecResult::loss).orElse(OutputLoss.NONE);
    return Optional.of(stored.plus(unread)).filter(OutputLoss::isAny);
  }
}
