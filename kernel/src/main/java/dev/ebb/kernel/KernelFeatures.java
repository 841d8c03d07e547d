package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.CLOSE_RANGE;
import static dev.ebb.kernel.SystemCall.MOUNT_SETATTR;
import static dev.ebb.kernel.SystemCall.OPENAT2;
import static dev.ebb.kernel.SystemCall.PIDFD_OPEN;

import java.util.ArrayList;
import java.util.List;

/** What this kernel lacks of what Ebb would like; asked, not guessed from a version. */
public final class KernelFeatures {
  private KernelFeatures() {}

  /** Whoever answers a call: with a result, or a negated errno. */
  interface Kernel {
    long call(SystemCall call, long... arguments);
  }

  /** Each with what follows from it. */
  public static List<String> missing() {
    try (var frame = new Frame()) {
      return missing(frame::call);
    }
  }

  /** Each of these calls fails for its arguments, if it is there. */
  static List<String> missing(Kernel kernel) {
    var missing = new ArrayList<String>();
    note(missing, kernel.call(PIDFD_OPEN, -1, 0), "pidfds (5.4), so boxes cannot be made");
    note(missing, kernel.call(OPENAT2, -1, 0, 0, 0), "openat2 (5.6), so nothing can be shown");
    note(
        missing,
        kernel.call(CLOSE_RANGE, 1, 0, 0),
        "close_range (5.9), so descriptors are closed one by one");
    note(
        missing,
        kernel.call(MOUNT_SETATTR, -1, 0, 0, 0, 0),
        "mount_setattr (5.12), so --mount and --packages are refused");
    return missing;
  }

  private static void note(List<String> missing, long result, String feature) {
    if (result == -Errno.ENOSYS.number()) {
      missing.add(feature);
    }
  }
}
