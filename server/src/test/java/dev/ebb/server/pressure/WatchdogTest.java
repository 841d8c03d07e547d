package dev.ebb.server.pressure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.StallDetector.Stall;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WatchdogTest {
  private final Watchdog watchdog = Watchdog.start(new Watchdog.Patience(10, 60), () -> {});

  @AfterEach
  void close() {
    watchdog.close();
  }

  private boolean isTheEnd(int looks, boolean isDeadlock) {
    return watchdog.isTheEnd(new Stall("a lock", looks, isDeadlock, List.of()));
  }

  @Test
  void aStallThatMayEndIsAwaitedLonger() {
    assertThat(isTheEnd(59, false)).isFalse();
    assertThat(isTheEnd(60, false)).isTrue();
  }

  @Test
  void aDeadlockEndsTheDaemonSoon() {
    assertThat(isTheEnd(4, true)).isFalse();
    assertThat(isTheEnd(5, true)).isTrue();
  }

  @Test
  void workThatHoldsNothingUpDoesNotEndTheDaemon() {
    assertThat(watchdog.isTheEnd(new Stall("a release", 600, false, true, List.of()))).isFalse();
  }

  @Test
  void aDaemonThatIsStoppingWaitsNoLongerThanHealthDoes() {
    watchdog.goDown();
    assertThat(isTheEnd(9, false)).isFalse();
    assertThat(isTheEnd(10, false)).isTrue();
  }
}
