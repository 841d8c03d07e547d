package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.CLONE;
import static dev.ebb.kernel.SystemCall.CLOSE_RANGE;
import static dev.ebb.kernel.SystemCall.MOUNT_SETATTR;
import static dev.ebb.kernel.SystemCall.OPENAT2;
import static dev.ebb.kernel.SystemCall.PIDFD_OPEN;

import java.util.ArrayList;
import java.util.List;

/**
 * The features that Ebb would use and that this kernel lacks or denies us; probed, not derived from
 * a version.
 */
public final class KernelFeatures {
  /** CLONE_NEWUSER, NEWNS, NEWPID, NEWNET, NEWIPC and NEWUTS. */
  private static final long NAMESPACES = 0x7c020000L;

  private static final long CLONE_THREAD = 0x10000;

  private KernelFeatures() {}

  /** Makes a call: returns a result, or a negated errno. */
  interface Kernel {
    long call(SystemCall call, long... arguments);
  }

  /**
   * Something that is not there.
   *
   * @param what with what follows from it
   * @param isVital without it there are no boxes
   */
  public record Lack(String what, boolean isVital) {}

  public static List<Lack> missing() {
    try (var frame = new Frame()) {
      return missing(frame::call);
    }
  }

  /** Each of these calls fails for its arguments, if it is there. */
  static List<Lack> missing(Kernel kernel) {
    var missing = new ArrayList<Lack>();
    note(missing, kernel.call(PIDFD_OPEN, -1, 0), "pidfds (5.4), so boxes cannot be made", true);
    note(
        missing,
        kernel.call(OPENAT2, -1, 0, 0, 0),
        "openat2 (5.6), so nothing can be shown",
        false);
    note(
        missing,
        kernel.call(CLOSE_RANGE, 1, 0, 0),
        "close_range (5.9), so descriptors are closed one by one",
        false);
    note(
        missing,
        kernel.call(MOUNT_SETATTR, -1, 0, 0, 0, 0),
        "mount_setattr (5.12), so --mount and --packages are refused to root",
        false);
    return missing;
  }

  private static void note(List<Lack> missing, long result, String what, boolean isVital) {
    if (result == -Errno.ENOSYS.number()) {
      missing.add(new Lack(what, isVital));
    }
  }

  /** Returns whether a seccomp filter keeps this process from making namespaces. */
  public static boolean areNamespacesForbidden() {
    try (var frame = new Frame()) {
      return areNamespacesForbidden(frame::call);
    }
  }

  /**
   * KERNEL: clone(2) makes no thread that has signal handlers of its own, EINVAL, before it looks
   * at anything else; so this never makes one. A filter answers before.
   */
  static boolean areNamespacesForbidden(Kernel kernel) {
    return kernel.call(CLONE, NAMESPACES | CLONE_THREAD, 0, 0, 0, 0) != -Errno.EINVAL.number();
  }
}
