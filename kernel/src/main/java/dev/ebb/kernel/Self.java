package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.GETEUID;
import static dev.ebb.kernel.SystemCall.PRCTL;

/** What this process is to the kernel. */
public final class Self {
  private static final int PR_SET_CHILD_SUBREAPER = 36;

  private Self() {}

  public static int uid() {
    try (var frame = new Frame()) {
      return (int) frame.call(GETEUID);
    }
  }

  /** Orphans below this process become its children, instead of pid 1's. */
  public static void becomeSubreaper() throws KernelException {
    try (var frame = new Frame()) {
      Frame.check(frame.call(PRCTL, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "become child subreaper");
    }
  }
}
