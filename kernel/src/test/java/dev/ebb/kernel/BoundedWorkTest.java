package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class BoundedWorkTest {
  private final StallDetector detector = new StallDetector();

  private List<StallDetector.Stall> look() {
    return detector.look(1_000);
  }

  @Test
  void workBeyondItsBoundIsFoundWithTheStackOfItsThread() throws InterruptedException {
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    Thread worker =
        Thread.ofVirtual()
            .name("worker")
            .start(
                () -> {
                  try (var _ = BoundedWork.begin("the work", Duration.ofSeconds(3))) {
                    begun.countDown();
                    end.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    begun.await();
    for (int i = 0; i < 3; i++) {
      assertThat(look()).isEmpty();
    }
    StallDetector.Stall stall = look().getFirst();
    assertThat(stall.what()).isEqualTo("the work does not end");
    assertThat(stall.isLocal()).isTrue();
    assertThat(stall.traces().getFirst().thread()).isEqualTo("worker");
    assertThat(stall.traces().getFirst().frames().toString()).contains("BoundedWorkTest");
    end.countDown();
    worker.join();
    assertThat(look()).isEmpty();
  }
}
