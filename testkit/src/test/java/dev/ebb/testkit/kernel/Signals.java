package dev.ebb.testkit.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Changes what this JVM, or the calling thread, does with signals, until closed. */
@SuppressWarnings("restricted") // the JDK cannot
final class Signals {
  private static final int SIG_BLOCK = 0;
  private static final int SIG_SETMASK = 2;
  private static final int SIGNAL_SET_SIZE = 128;
  private static final long SIG_IGN = 1;

  private static final MethodHandle SIGNAL =
      link("signal", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MASK =
      link("pthread_sigmask", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));

  private Signals() {}

  /** The state that is restored at the end. */
  interface Changed extends AutoCloseable {
    @Override
    void close();
  }

  static Changed ignore(int signal) {
    long before = disposition(signal, SIG_IGN);
    return () -> disposition(signal, before);
  }

  static Changed blockAll() {
    var arena = Arena.ofConfined();
    MemorySegment all = arena.allocate(SIGNAL_SET_SIZE);
    // Not those a JVM needs for itself: synchronous signals such as SIGSEGV are never blocked.
    all.fill((byte) 0xff);
    MemorySegment before = arena.allocate(SIGNAL_SET_SIZE);
    mask(SIG_BLOCK, all, before);
    return () -> {
      mask(SIG_SETMASK, before, MemorySegment.NULL);
      arena.close();
    };
  }

  private static long disposition(int signal, long handler) {
    try {
      return (long) SIGNAL.invokeExact(signal, handler);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static void mask(int how, MemorySegment set, MemorySegment before) {
    try {
      assertThat((int) MASK.invokeExact(how, set, before)).isZero();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static MethodHandle link(String function, FunctionDescriptor shape) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), shape);
  }
}
