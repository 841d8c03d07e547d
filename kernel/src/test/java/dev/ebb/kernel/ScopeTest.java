package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ScopeTest {
  private static final int THREADS = 4;
  private static final int ROUNDS = 500;

  private final List<String> released = new ArrayList<>();
  private final Scope scope = new Scope();

  private Owned named(String name) {
    return () -> released.add(name);
  }

  private static Owned failing(Throwable failure) {
    return () -> {
      switch (failure) {
        case KernelException e -> throw e;
        case RuntimeException e -> throw e;
        case Error e -> throw e;
        default -> throw new AssertionError(failure);
      }
    };
  }

  @Test
  void everythingIsReleasedInReverseOrder() throws KernelException {
    scope.own(named("first"));
    scope.own(named("second"));
    scope.own(named("third"));
    scope.close();
    assertThat(released).containsExactly("third", "second", "first");
  }

  @Test
  void aFailureDoesNotKeepTheRestAndIsThrownWithTheOthersSuppressed() throws KernelException {
    var checked = new KernelException("end it", Errno.EIO);
    var unchecked = new IllegalStateException("unchecked");
    var error = new StackOverflowError("error");
    scope.own(named("first"));
    scope.own(failing(error));
    scope.own(named("second"));
    scope.own(failing(unchecked));
    scope.own(failing(checked));
    scope.own(named("third"));
    Throwable thrown = catchThrowable(scope::close);
    assertThat(thrown).isSameAs(checked);
    assertThat(thrown.getSuppressed()).containsExactly(unchecked, error);
    assertThat(released).containsExactly("third", "second", "first");
  }

  @Test
  void anUncheckedFailureIsThrownAsItIs() throws KernelException {
    var failure = new IllegalStateException("unchecked");
    scope.own(failing(failure));
    assertThatThrownBy(scope::close).isSameAs(failure);
  }

  @Test
  void anErrorIsThrownAsItIs() throws KernelException {
    var failure = new StackOverflowError("error");
    scope.own(failing(failure));
    assertThatThrownBy(scope::close).isSameAs(failure);
  }

  @Test
  void closingAgainReleasesNothingTwice() throws KernelException {
    scope.own(named("only"));
    assertThat(scope.isClosed()).isFalse();
    scope.close();
    scope.close();
    assertThat(scope.isClosed()).isTrue();
    assertThat(released).containsExactly("only");
  }

  @Test
  void closingAgainAfterAFailureIsSilent() throws KernelException {
    scope.own(failing(new IllegalStateException("once")));
    assertThatThrownBy(scope::close).hasMessage("once");
    scope.close();
  }

  @Test
  void aLateComerIsReleasedAtOnceAndRefused() throws KernelException {
    scope.close();
    assertThatThrownBy(() -> scope.own(named("late")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("scope is closed");
    assertThat(released).containsExactly("late");
  }

  @Test
  void whatIsOwnedWhileTheScopeClosesIsReleasedExactlyOnce() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      var contested = new Scope();
      var count = new AtomicInteger();
      race(
          contested::close,
          () -> {
            try {
              contested.own((Owned) count::incrementAndGet);
            } catch (IllegalStateException e) {
              assertThat(e).hasMessage("scope is closed");
            }
          });
      assertThat(count).hasValue(THREADS - 1);
    }
  }

  @Test
  void aScopeWithinEndsWithTheOuterOne() throws KernelException {
    scope.own(named("outer"));
    Scope.in(scope).own(named("inner"));
    assertThat(scope.size()).isEqualTo(2);
    scope.close();
    assertThat(released).containsExactly("inner", "outer");
  }

  @Test
  void oneResourceCanBeReleasedBeforeTheRest() throws KernelException {
    scope.own(named("first"));
    Owned early = scope.own(named("early"));
    scope.release(early);
    assertThat(released).containsExactly("early");
    assertThat(scope.size()).isEqualTo(1);
    scope.close();
    assertThat(released).containsExactly("early", "first");
  }

  @Test
  void moveToKeepsTheOrderAndLeavesTheSourceEmptyAndOpen() throws KernelException {
    var target = new Scope();
    target.own(named("before"));
    scope.own(named("first"));
    scope.own(named("second"));
    scope.moveTo(target);
    assertThat(scope.size()).isZero();
    scope.own(named("later"));
    scope.close();
    assertThat(released).containsExactly("later");
    target.close();
    assertThat(released).containsExactly("later", "second", "first", "before");
  }

  @Test
  void moveToAClosedScopeReleasesEverythingInReverseOrder() throws KernelException {
    var target = new Scope();
    target.close();
    scope.own(named("first"));
    scope.own(named("second"));
    scope.own(named("third"));
    assertThatThrownBy(() -> scope.moveTo(target)).hasMessage("scope is closed");
    assertThat(released).containsExactly("third", "second", "first");
  }

  @Test
  void whatMovesWhileTheTargetClosesIsReleasedExactlyOnce() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      var target = new Scope();
      var count = new AtomicInteger();
      race(
          target::close,
          () -> {
            var building = new Scope();
            building.own((Owned) count::incrementAndGet);
            building.own((Owned) count::incrementAndGet);
            try {
              building.moveTo(target);
            } catch (IllegalStateException e) {
              assertThat(e).hasMessage("scope is closed");
            }
          });
      assertThat(count).hasValue(2 * (THREADS - 1));
    }
  }

  private interface Action {
    void run() throws KernelException;
  }

  /** Runs {@code one} against {@code others} on as many threads as are left, all at once. */
  private static void race(Action one, Action others) throws Exception {
    var start = new CyclicBarrier(THREADS);
    var running = new ArrayList<Future<@Nullable Void>>();
    try (var executor = Executors.newFixedThreadPool(THREADS)) {
      for (int i = 0; i < THREADS; i++) {
        Action action = i == 0 ? one : others;
        Callable<@Nullable Void> task =
            () -> {
              start.await();
              action.run();
              return null;
            };
        running.add(executor.submit(task));
      }
    }
    for (Future<@Nullable Void> each : running) {
      each.get();
    }
  }
}
