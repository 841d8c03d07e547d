package dev.ebb.admission;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class BaselineWatchTest {
  private static final Duration QUIET = Duration.ofSeconds(10);

  private final FakeClock clock = new FakeClock();
  private final AtomicBoolean hasNoBox = new AtomicBoolean(true);
  private final BaselineWatch watch = new BaselineWatch(clock, QUIET, hasNoBox::get, () -> 0);
  private final Map<String, Integer> now =
      new TreeMap<>(
          Map.of("descriptor eventfd", 3, "descriptor regular", 40, "thread ebb-poller", 1));
  private final List<Object> told = new ArrayList<>();

  private void look() {
    clock.advance(QUIET);
    watch.look(() -> now, (kind, data) -> told.add(kind + " " + data.get("state")));
  }

  @BeforeEach
  void learn() {
    for (int i = 0; i < 5; i++) {
      look();
    }
    assertThat(watch.state().learned()).isTrue();
  }

  private void lookTimes(int times) {
    for (int i = 0; i < times; i++) {
      look();
    }
  }

  @Test
  void aDaemonThatReturnsToItsBaselineRaisesNoAlarm() {
    lookTimes(20);
    now.put("descriptor eventfd", 5);
    lookTimes(2);
    now.put("descriptor eventfd", 3);
    lookTimes(20);
    assertThat(told).isEmpty();
    assertThat(watch.state().alarm()).isFalse();
  }

  @Test
  void anExcessThatStaysIsReportedOnce() {
    now.put("descriptor eventfd", 4);
    lookTimes(10);
    assertThat(told).containsExactly("baseline exceeded");
    assertThat(watch.state().excess()).isEqualTo(Map.of("descriptor eventfd", 1));
    now.put("descriptor eventfd", 3);
    look();
    assertThat(told).containsExactly("baseline exceeded", "baseline kept");
    assertThat(watch.state().alarm()).isFalse();
  }

  @Test
  void aThreadThatWasNotThereBeforeIsSeen() {
    now.put("thread ebb-leak", 2);
    lookTimes(3);
    assertThat(watch.state().excess()).isEqualTo(Map.of("thread ebb-leak", 2));
    assertThat(watch.state().alarm()).isTrue();
  }

  @Test
  void aThreadThatIsStartedWhenItIsFirstNeededIsNoLeak() {
    now.put("thread Scheduler", 1);
    lookTimes(10);
    assertThat(told).isEmpty();
    now.put("thread ebb-poller", 2);
    lookTimes(3);
    assertThat(watch.state().excess()).isEqualTo(Map.of("thread ebb-poller", 1));
  }

  @Test
  void aJarMoreIsNoLeak() {
    now.put("descriptor regular", 44);
    lookTimes(10);
    assertThat(told).isEmpty();
    now.put("descriptor regular", 45);
    lookTimes(3);
    assertThat(told).hasSize(1);
  }

  @Test
  void aBusyDaemonIsNotJudged() {
    now.put("descriptor eventfd", 40);
    hasNoBox.set(false);
    lookTimes(10);
    hasNoBox.set(true);
    watch.requestBegins();
    lookTimes(10);
    watch.requestEnds();
    assertThat(told).isEmpty();
    lookTimes(3);
    assertThat(told).hasSize(1);
  }
}
