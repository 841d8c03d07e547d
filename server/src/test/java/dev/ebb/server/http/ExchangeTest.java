package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How long a body is waited for: 15 s, and one more for each 64 KiB of it. */
class ExchangeTest {
  @ParameterizedTest
  @CsvSource({"15000, 0", "15000, 65535", "16000, 65536", "31000, 1048576"})
  void aBodyThatComesIsWaitedFor(long millis, long bytes) {
    long nanos = Duration.ofMillis(millis).toNanos();
    assertThatCode(() -> Exchange.requireInTime(nanos, bytes)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource({"15001, 0", "15001, 65535", "16001, 65536", "31001, 1048576"})
  void aBodyThatDripsIsRefused(long millis, long bytes) {
    long nanos = Duration.ofMillis(millis).toNanos();
    assertThatThrownBy(() -> Exchange.requireInTime(nanos, bytes))
        .isInstanceOf(Problem.class)
        .hasMessage("the body comes slower than 65536 bytes a second");
  }
}
