package dev.ebb.box;

import static dev.ebb.model.BoxState.CREATING;
import static dev.ebb.model.BoxState.GONE;
import static dev.ebb.model.BoxState.LOST;
import static dev.ebb.model.BoxState.PAUSED;
import static dev.ebb.model.BoxState.RUNNING;
import static dev.ebb.model.BoxState.STOPPING;
import static dev.ebb.model.BoxState.STUCK;
import static dev.ebb.model.BoxState.UNREACHABLE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class BoxLifecycleTest {
  /** Rows and columns in the order of the states; x is legal. */
  private static final String TABLE =
      """
                   CREATING RUNNING PAUSED STOPPING STUCK LOST UNREACHABLE GONE
      CREATING     .        x       .      x        .     .    .           .
      RUNNING      .        .       x      x        .     x    .           .
      PAUSED       .        x       .      x        .     x    .           .
      STOPPING     .        .       .      .        x     .    .           x
      STUCK        .        .       .      x        .     .    .           .
      LOST         .        .       .      x        .     .    .           .
      UNREACHABLE  .        .       .      x        .     .    .           x
      GONE         .        .       .      .        x     .    .           .
      """;

  /** A way to each state. */
  private static final Map<BoxState, List<BoxState>> WAYS =
      Map.of(
          CREATING, List.of(),
          RUNNING, List.of(RUNNING),
          PAUSED, List.of(RUNNING, PAUSED),
          STOPPING, List.of(STOPPING),
          STUCK, List.of(STOPPING, STUCK),
          LOST, List.of(RUNNING, LOST),
          GONE, List.of(STOPPING, GONE));

  static Stream<Arguments> transitions() {
    var lines = TABLE.lines().map(line -> line.strip().split(" +")).toList();
    var all = new ArrayList<Arguments>();
    for (String[] row : lines.subList(1, lines.size())) {
      for (int i = 1; i < row.length; i++) {
        all.add(
            Arguments.of(
                BoxState.valueOf(row[0]),
                BoxState.valueOf(lines.getFirst()[i - 1]),
                row[i].equals("x")));
      }
    }
    return all.stream();
  }

  private static BoxLifecycle in(BoxState state) {
    if (state == UNREACHABLE) {
      return BoxLifecycle.found(state);
    }
    var lifecycle = new BoxLifecycle(next -> {});
    WAYS.getOrDefault(state, List.of()).forEach(lifecycle::become);
    assertThat(lifecycle.state()).isEqualTo(state);
    return lifecycle;
  }

  @ParameterizedTest
  @MethodSource("transitions")
  void onlyTheTransitionsOfTheTableAreLegal(BoxState from, BoxState to, boolean legal) {
    BoxLifecycle lifecycle = in(from);
    if (legal) {
      lifecycle.become(to);
      assertThat(lifecycle.state()).isEqualTo(to);
    } else {
      assertThatThrownBy(() -> lifecycle.become(to))
          .isInstanceOfSatisfying(
              SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE))
          .hasMessage("a box that is " + from.wireName() + " cannot become " + to.wireName());
      assertThat(lifecycle.state()).isEqualTo(from);
    }
  }

  @Test
  void aListenerReceivesEachChangeInOrder() {
    var states = new ArrayList<BoxState>();
    var lifecycle = new BoxLifecycle(states::add);
    lifecycle.become(RUNNING);
    lifecycle.become(PAUSED);
    assertThat(lifecycle.tryBecome(GONE)).isFalse();
    assertThat(lifecycle.tryBecome(LOST)).isTrue();
    assertThat(states).containsExactly(RUNNING, PAUSED, LOST);
  }

  @Test
  void theTableHoldsEveryPair() {
    int states = BoxState.values().length;
    assertThat(transitions()).hasSize(states * states);
  }

  @Test
  void ofManyThreadsThatTryOneChangeOneSucceeds() throws Exception {
    for (int round = 0; round < 200; round++) {
      BoxLifecycle lifecycle = in(RUNNING);
      int winners = 0;
      var running = new ArrayList<Future<Boolean>>();
      try (var executor = Executors.newFixedThreadPool(4)) {
        for (int i = 0; i < 4; i++) {
          running.add(executor.submit(() -> becomes(lifecycle, STOPPING)));
        }
      }
      for (Future<Boolean> each : running) {
        winners += each.get() ? 1 : 0;
      }
      assertThat(winners).isEqualTo(1);
    }
  }

  private static boolean becomes(BoxLifecycle lifecycle, BoxState state) {
    try {
      lifecycle.become(state);
      return true;
    } catch (SandboxException e) {
      return false;
    }
  }
}
