package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SignalTest {
  @Test
  void theNumbersAreThoseOfTheKernelsHeaders() throws IOException {
    var defined = CHeader.numbers(Path.of("/usr/include/asm-generic/signal.h"));
    for (Signal signal : Signal.values()) {
      assertThat(signal.number()).as(signal.name()).isEqualTo(defined.get("SIG" + signal.name()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"INT", "SIGINT", "2", "int", "SigInt"})
  void aSignalIsKnownByNameAndNumber(String text) {
    assertThat(Signal.parse(text)).contains(Signal.INT);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-2", "02", "65", "SIG", "SIGSIGINT", "INT ", "SIG2"})
  void whatIsNoSignalIsNone(String text) {
    assertThat(Signal.parse(text)).isEmpty();
  }
}
