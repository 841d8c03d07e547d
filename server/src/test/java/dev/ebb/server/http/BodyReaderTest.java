package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.server.service.access.TenantMemory;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How long a body is waited for: 15 s, and one more for each 64 KiB of it. */
class BodyReaderTest {
  @ParameterizedTest
  @CsvSource({"15000, 0", "15000, 65535", "16000, 65536", "31000, 1048576"})
  void aBodyThatComesIsWaitedFor(long millis, long bytes) {
    long nanos = Duration.ofMillis(millis).toNanos();
    assertThatCode(() -> BodyReader.requireInTime(nanos, bytes)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource({"15001, 0", "15001, 65535", "16001, 65536", "31001, 1048576"})
  void aBodyThatDripsIsRefused(long millis, long bytes) {
    long nanos = Duration.ofMillis(millis).toNanos();
    assertThatThrownBy(() -> BodyReader.requireInTime(nanos, bytes))
        .isInstanceOf(Problem.class)
        .hasMessage("the body comes slower than 65536 bytes a second");
  }

  /** Whether its length is known or not. */
  @ParameterizedTest
  @CsvSource({"300000, 300000", "300000, -1"})
  void aLongBodyWaitsForAnotherOfItsTenantForAWhile(int bytes, long length) throws Exception {
    var memory = new TenantMemory(1 << 30);
    byte[] body = "x".repeat(bytes).getBytes(StandardCharsets.UTF_8);
    try (var claim = memory.claim("a");
        var _ = memory.claim("a").place(Duration.ZERO)) {
      long begun = System.nanoTime();
      byte[] read = new BodyReader(claim, bytes).read(new ByteArrayInputStream(body), length);
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(99));
      assertThat(read).isEqualTo(body);
    }
    assertThat(memory.used()).isZero();
  }
}
