package dev.ebb.cgroup;

/** A kernel's release, for features that cannot be probed. */
final class KernelVersion {
  private KernelVersion() {}

  static boolean isAtLeast(String release, int major, int minor) {
    String[] parts = release.split("[.-]");
    int runningMajor = Integer.parseInt(parts[0]);
    int runningMinor = Integer.parseInt(parts[1]);
    return runningMajor > major || (runningMajor == major && runningMinor >= minor);
  }
}
