package dev.ebb.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;

/**
 * The memory of one native call: arguments live in it, errno is captured in it, and it ends with
 * the call. Not for sharing between threads.
 */
final class Frame implements AutoCloseable {
  /** Arguments a call may have; the unused ones are zero. */
  private static final int MAX_ARGUMENTS = 6;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle SYSCALL = link("syscall");

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());

  /**
   * One shape for every function: seven register-sized integers in, one out.
   *
   * <p>KERNEL: on both supported ABIs an integer or pointer takes one register whatever its width,
   * and a function never looks at arguments beyond its own; so narrower and shorter calls fit too.
   */
  @SuppressWarnings("restricted") // this module is the one that may
  static MethodHandle link(String function) {
    var shape =
        FunctionDescriptor.of(
            JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(function),
        shape,
        Linker.Option.captureCallState("errno"));
  }

  /** Returns whether the C library has a function. */
  static boolean has(String function) {
    return LINKER.defaultLookup().find(function).isPresent();
  }

  /** Returns what the kernel returned, or the negated errno. Retries nothing. */
  long call(SystemCall call, long... arguments) {
    long[] a = Arrays.copyOf(arguments, MAX_ARGUMENTS);
    long result = invoke(SYSCALL, call.number(), a[0], a[1], a[2], a[3], a[4], a[5]);
    return result == -1 ? -state.get(JAVA_INT, 0) : result;
  }

  // SAFETY: pointers among the arguments come from the arena of a frame that the caller holds open.
  long invoke(MethodHandle function, long a, long b, long c, long d, long e, long f, long g) {
    try {
      return (long) function.invokeExact(state, a, b, c, d, e, f, g);
    } catch (Throwable failure) {
      throw new AssertionError("a linked native function does not throw", failure);
    }
  }

  /** Like {@link #call}, restarted when a signal interrupts it. */
  long callThroughInterrupts(SystemCall call, long... arguments) {
    long result;
    do {
      result = call(call, arguments);
    } while (result == -Errno.EINTR.number());
    return result;
  }

  /**
   * Makes a call that returns a descriptor; when descriptors are used up, retries it with the
   * reserve.
   */
  long callForDescriptor(SystemCall call, long... arguments) {
    long result = callThroughInterrupts(call, arguments);
    while (result == -Errno.EMFILE.number() && Reserve.spend()) {
      result = callThroughInterrupts(call, arguments);
    }
    return result;
  }

  long string(String value) {
    return arena.allocateFrom(value).address();
  }

  MemorySegment allocate(long size) {
    return arena.allocate(size, Long.BYTES);
  }

  /** A NULL-terminated array of C strings. */
  long strings(Iterable<String> values) {
    var addresses = new ArrayList<Long>();
    for (String value : values) {
      addresses.add(string(value));
    }
    MemorySegment array = arena.allocate(JAVA_LONG, addresses.size() + 1L);
    for (int i = 0; i < addresses.size(); i++) {
      array.setAtIndex(JAVA_LONG, i, addresses.get(i));
    }
    return array.address();
  }

  static long check(long result, String action) throws KernelException {
    if (result < 0) {
      throw new KernelException(action, (int) -result);
    }
    return result;
  }

  @Override
  public void close() {
    arena.close();
  }
}
