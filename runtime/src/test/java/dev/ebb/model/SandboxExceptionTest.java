package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

class SandboxExceptionTest {
  @Test
  void anUnexpectedFailureIsDescribedWithItsPlace() {
    String text = "";
    try {
      var _ = List.of().getFirst();
    } catch (NoSuchElementException e) {
      text = SandboxException.describe(e);
    }
    String place = "java.util.NoSuchElementException in " + getClass().getName();
    assertThat(text).startsWith(place + ".anUnexpectedFailureIsDescribedWithItsPlace, line ");
  }

  @Test
  void aFailureOfOtherCodeIsDescribedWithoutAPlace() {
    var failure = new IllegalStateException("full");
    failure.setStackTrace(new StackTraceElement[] {});
    assertThat(SandboxException.describe(failure))
        .isEqualTo("java.lang.IllegalStateException: full");
  }
}
