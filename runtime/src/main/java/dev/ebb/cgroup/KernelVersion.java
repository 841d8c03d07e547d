package dev.ebb.cgroup;

/** The running kernel's release, for features that cannot be probed. */
final class KernelVersion {
  private KernelVersion() {}

  static boolean isAtLeast(int major, int minor) {
    String[] parts = System.getProperty("os.version").split("[.-]");
    int runningMajor = Integer.parseInt(parts[0]);
    int runningMinor = Integer.parseInt(parts[1]);
    return runningMajor > major || (runningMajor == major && runningMinor >= minor);
  }
}
