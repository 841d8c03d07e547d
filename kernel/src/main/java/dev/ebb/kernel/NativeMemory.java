package dev.ebb.kernel;

import java.lang.invoke.MethodHandle;

/** The memory that the C library has from the kernel. */
public final class NativeMemory {
  private static final MethodHandle MALLOC_TRIM = Frame.link("malloc_trim");

  private NativeMemory() {}

  /**
   * Returns free memory to the kernel, in some milliseconds; the C library otherwise keeps it for
   * later use.
   */
  public static void trim() {
    try (var frame = new Frame()) {
      frame.invoke(MALLOC_TRIM, 0, 0, 0, 0, 0, 0, 0);
    }
  }
}
