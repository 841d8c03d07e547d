package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.CLOCK_GETTIME;
import static dev.ebb.kernel.SystemCall.GETEUID;
import static dev.ebb.kernel.SystemCall.GETRANDOM;
import static dev.ebb.kernel.SystemCall.PRCTL;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/** This process, as the kernel sees it. */
public final class Self {
  private static final int PR_SET_CHILD_SUBREAPER = 36;
  private static final int CLOCK_MONOTONIC = 1;
  private static final int TIMESPEC_SIZE = 16;
  private static final long NANOS = 1_000_000_000;

  private Self() {}

  public static int uid() {
    try (var frame = new Frame()) {
      return (int) frame.call(GETEUID);
    }
  }

  /** How long ago that moment of CLOCK_MONOTONIC was, in nanoseconds; by the kernel's own count. */
  public static long sinceMonotonic(long nanos) {
    try (var frame = new Frame()) {
      MemorySegment time = frame.allocate(TIMESPEC_SIZE);
      frame.call(CLOCK_GETTIME, CLOCK_MONOTONIC, time.address());
      return time.get(JAVA_LONG, 0) * NANOS + time.get(JAVA_LONG, 8) - nanos;
    }
  }

  /** Unguessable bytes, without the cost of loading a security provider. */
  public static byte[] randomBytes(int count) throws KernelException {
    byte[] bytes = new byte[count];
    try (var frame = new Frame()) {
      // KERNEL: up to 256 bytes are never cut short.
      MemorySegment memory = frame.allocate(count);
      Frame.check(
          frame.callThroughInterrupts(GETRANDOM, memory.address(), count, 0), "get random bytes");
      MemorySegment.copy(memory, JAVA_BYTE, 0, bytes, 0, count);
    }
    return bytes;
  }

  /**
   * Gives memory that the C library has freed back to the kernel; the compilers of the JVM leave
   * much.
   */
  public static void trimMemory() {
    // KERNEL: malloc_trim(3) is of glibc; others have nothing like it.
    if (Frame.has("malloc_trim")) {
      try (var frame = new Frame()) {
        var _ = frame.invoke(Frame.link("malloc_trim"), 0, 0, 0, 0, 0, 0, 0);
      }
    }
  }

  /** Orphans below this process become its children, instead of pid 1's. */
  public static void becomeSubreaper() throws KernelException {
    try (var frame = new Frame()) {
      Frame.check(frame.call(PRCTL, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "become child subreaper");
    }
  }
}
