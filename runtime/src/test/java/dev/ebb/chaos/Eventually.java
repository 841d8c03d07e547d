package dev.ebb.chaos;

import dev.ebb.kernel.Deadline;
import dev.ebb.testkit.TestHost;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Looks again and again, until a deadline. */
final class Eventually {
  static final Duration SOON = TestHost.patience(Duration.ofSeconds(20));

  private static final long LOOK_AGAIN_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

  private Eventually() {}

  /** What {@code look} finds; empty when it found nothing in time. */
  static <T> Optional<T> find(Duration patience, Callable<Optional<T>> look) throws Exception {
    Deadline deadline = Deadline.in(patience);
    Optional<T> found = look.call();
    while (found.isEmpty() && !deadline.isOver()) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      found = look.call();
    }
    return found;
  }

  static void holds(String what, Callable<Boolean> condition) throws Exception {
    if (find(SOON, () -> condition.call() ? Optional.of(true) : Optional.empty()).isEmpty()) {
      throw new AssertionError("not in time: " + what);
    }
  }
}
