package dev.ebb.box;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** The refusal of an impossible request. */
public final class Refusal {
  private Refusal() {}

  public static void assertRefused(ErrorCode code, String message, ThrowingCallable request) {
    assertThatThrownBy(request)
        .isInstanceOfSatisfying(SandboxException.class, e -> assertThat(e.code()).isEqualTo(code))
        .hasMessage(message);
    assertThat(code.fault()).isEqualTo(ErrorCode.Fault.CALLER);
    assertThat(code.isRetryable()).isFalse();
  }
}
