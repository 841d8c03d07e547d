package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReadinessCloseTest {
  @Test
  void noThreadWaitsForAClosedDescriptorEvenIfItIsArmedMeanwhile() throws Exception {
    try (var scope = new Scope()) {
      var poller = Poller.start(scope, "readiness-poller");
      Fd.Pipe pipe = Fd.pipe(scope, scope);
      var readable = new Readiness(scope, poller, pipe.read(), Poller.Interest.READ);
      readable.close();
      readable.arm();
      assertThat(readable.await(Deadline.in(Duration.ofSeconds(30)))).isTrue();
    }
  }
}
