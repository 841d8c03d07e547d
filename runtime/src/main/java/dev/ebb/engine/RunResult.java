package dev.ebb.engine;

import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;

/** What a command did in a box of its own, and the proof that nothing of it is left. */
public record RunResult(
    ExecResult result, CapturedOutput stdout, CapturedOutput stderr, Certificate certificate) {
  public ExitCause cause() {
    return result.cause();
  }
}
