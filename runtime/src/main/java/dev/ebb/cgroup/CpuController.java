package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.time.Duration;
import java.util.Optional;

/** cpu: how much processor time a cgroup may use in a period, and has used in all. */
record CpuController(Cgroup cgroup, boolean version1) {
  private static final long PERIOD_MICROS = 100_000;

  /** The limit of the parent holds. */
  private static final String NO_QUOTA = "-1";

  void max(double cpus) throws KernelException {
    long quota = Math.max(1000, Math.round(cpus * PERIOD_MICROS));
    if (version1) {
      maxOfVersion1(quota);
    } else {
      CgroupFile.of(cgroup.path(), "cpu.max").write(quota + " " + PERIOD_MICROS);
    }
  }

  /** KERNEL: a v1 quota above one of a parent is refused, though it would never be reached. */
  private void maxOfVersion1(long quota) throws KernelException {
    CgroupFile file = CgroupFile.of(cgroup.path(), "cpu.cfs_quota_us");
    try {
      file.write(Long.toString(quota));
    } catch (KernelException e) {
      if (!e.is(Errno.EINVAL)) {
        throw e;
      }
      file.write(NO_QUOTA);
    }
  }

  /** KERNEL: every v2 cgroup has cpu.stat, also without the controller. */
  static Optional<Duration> used(Cgroup version2) throws KernelException {
    return CgroupFile.of(version2.path(), "cpu.stat")
        .value("usage_usec")
        .map(micros -> Duration.ofNanos(micros * 1000));
  }
}
