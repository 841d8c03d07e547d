package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

class TerminalTest {
  @Test
  void withoutATerminalThereIsNothingToChange() throws KernelException {
    Assumptions.assumeFalse(Terminal.isAt(Terminal.Stream.STDIN), "host lacks a test without one");
    try (var scope = new Scope()) {
      assertThatThrownBy(() -> Terminal.raw(scope))
          .isInstanceOf(KernelException.class)
          .hasMessageContaining("cannot read the mode of the terminal");
      assertThat(scope.size()).isZero();
    }
    assertThat(Terminal.size(Terminal.Stream.STDIN)).isEmpty();
  }
}
