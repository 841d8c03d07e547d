package dev.ebb.fault;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A fault at one step, which occurs once: {@code STEP:crash}, {@code STEP:hang}, {@code STEP:error}
 * (an {@link Error} of the JVM) or {@code STEP:ERRNO}, with {@code #n} at the end for the n-th time
 * that the step is reached. {@code STEP:slow#n} delays the step by n milliseconds every time.
 *
 * <p>Only the system property {@code ebb.fault} arms a fault; it is read once. With {@code none}
 * nothing is armed, and a test in this package can arm one fault after the other.
 */
final class Fault {
  private static final String PROPERTY = "ebb.fault";
  private static final String NONE = "none";
  private static final String CRASH = "crash";
  private static final String HANG = "hang";
  private static final String ERROR = "error";
  private static final String SLOW = "slow";

  /** Without the property a step only reads this field. */
  static final boolean IS_TEST = System.getProperty(PROPERTY) != null;

  private static volatile @Nullable Fault armed =
      IS_TEST ? parse(System.getProperty(PROPERTY, NONE)) : null;

  private final Step step;
  private final @Nullable Errno errno;
  private final String how;
  private final AtomicInteger left;

  private Fault(Step step, @Nullable Errno errno, String how, int time) {
    this.step = step;
    this.errno = errno;
    this.how = how;
    left = new AtomicInteger(time);
  }

  static @Nullable Fault parse(String text) {
    if (text.equals(NONE)) {
      return null;
    }
    String[] words = text.split("[:#]");
    boolean isErrno = !Set.of(CRASH, HANG, ERROR, SLOW).contains(words[1]);
    Errno errno = isErrno ? Errno.valueOf(words[1]) : null;
    int time = words.length > 2 ? Integer.parseInt(words[2]) : 1;
    return new Fault(Step.valueOf(words[0]), errno, words[1], time);
  }

  /** Arms this fault, in a JVM that was started for faults. */
  static void arm(String text) {
    if (!IS_TEST) {
      throw new IllegalStateException("set " + PROPERTY + " first");
    }
    armed = parse(text);
  }

  /** Returns whether the armed fault has not occurred yet. */
  static boolean isWaiting() {
    Fault fault = armed;
    return fault != null && fault.left.get() > 0;
  }

  static void meet(Step step) throws KernelException {
    Fault fault = armed;
    if (fault == null || fault.step != step) {
      return;
    }
    if (fault.how.equals(SLOW)) {
      Deadline.never().pause(Duration.ofMillis(fault.left.get()));
    } else if (fault.left.decrementAndGet() == 0) {
      fault.goOff();
    }
  }

  private void goOff() throws KernelException {
    if (errno != null) {
      throw new KernelException("get past the step " + step, errno);
    }
    switch (how) {
      case HANG -> hang();
      case ERROR -> throw new InternalError("get past the step " + step);
      default -> crash();
    }
  }

  /** Blocks forever, like a thread that is stuck in the kernel. */
  private static void hang() {
    while (true) {
      LockSupport.park();
    }
  }

  /** Ends the JVM at once and without shutdown hooks, as SIGKILL from another process does. */
  private static void crash() throws KernelException {
    try (var scope = new Scope()) {
      Pidfd.open(scope, (int) ProcessHandle.current().pid()).signal(Signal.KILL);
    }
    throw new AssertionError("outlived SIGKILL");
  }
}
