package dev.ebb.kernel;

/** A system call that failed: what was tried, on what, and the kernel's answer. */
public final class KernelException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int number;

  /** Reads as {@code cannot <action>: <errno>}. */
  public KernelException(String action, int number) {
    super("cannot " + action + ": " + Errno.describe(number));
    this.number = number;
  }

  public KernelException(String action, Errno errno) {
    this(action, errno.number());
  }

  public Errno errno() {
    return Errno.of(number);
  }

  public boolean is(Errno errno) {
    return number == errno.number();
  }
}
