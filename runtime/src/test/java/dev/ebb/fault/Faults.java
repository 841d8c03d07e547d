package dev.ebb.fault;

import dev.ebb.kernel.Errno;

/** Arms steps, in a JVM that was started for it: with {@link #OPTION}. */
public final class Faults {
  /** Arms nothing yet. */
  public static final String OPTION = "-Debb.fault=none";

  private Faults() {}

  /** The option of a JVM that dies at {@code step}. */
  public static String crashAt(Step step) {
    return "-Debb.fault=" + step + ":crash";
  }

  /** The next time {@code step} is reached, it fails; once. */
  public static void fail(Step step, Errno errno) {
    Fault.arm(step + ":" + errno);
  }

  /** The next time {@code step} is reached, it throws an {@link Error}; once. */
  public static void breakAt(Step step) {
    Fault.arm(step + ":error");
  }

  /** True when the step that was to fail was reached; from now on none fails. */
  public static boolean disarm() {
    boolean wentOff = !Fault.isWaiting();
    Fault.arm("none");
    return wentOff;
  }
}
