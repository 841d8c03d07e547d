package dev.ebb.engine;

import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;

/** The result of a command in a box of its own, with the certificate of that box. */
public record RunResult(
    ExecResult result, CapturedOutput stdout, CapturedOutput stderr, Certificate certificate) {
  public ExitCause cause() {
    return result.cause();
  }
}
