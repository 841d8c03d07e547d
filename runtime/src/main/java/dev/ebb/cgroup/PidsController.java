package dev.ebb.cgroup;

import dev.ebb.kernel.KernelException;

/** pids: how many tasks a cgroup may have. The files are the same in both versions. */
record PidsController(Cgroup cgroup) {
  void max(long tasks) throws KernelException {
    CgroupFile.of(cgroup.path(), "pids.max").write(Long.toString(tasks));
  }

  /** How often a fork failed at the limit; of this cgroup or of one above, that depends. */
  long maxEvents() throws KernelException {
    return CgroupFile.of(cgroup.path(), "pids.events").value("max").orElse(0L);
  }

  /** The tasks there are now. */
  long current() throws KernelException {
    return CgroupFile.of(cgroup.path(), "pids.current").number().orElse(0L);
  }

  /**
   * Returns the most tasks there ever were; 0 if this kernel does not report it (before Linux 6.1).
   */
  long peak() throws KernelException {
    return CgroupFile.of(cgroup.path(), "pids.peak").number().orElse(0L);
  }
}
