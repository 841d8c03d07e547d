package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;

/** memory: what a cgroup may use, the most it used, and what the OOM killer took. */
record MemoryController(Cgroup cgroup, boolean version1) {
  /** In v1 sockets may hold this part of the limit, beyond it. */
  private static final int SOCKET_SHARE = 4;

  void max(long bytes) throws KernelException {
    if (version1) {
      file("memory.limit_in_bytes").write(Long.toString(bytes));
      noSwap(bytes);
      sockets(bytes / SOCKET_SHARE);
    } else {
      file("memory.max").write(Long.toString(bytes));
      file("memory.swap.max").writeIfPresent("0");
    }
  }

  // KERNEL: v1 limits memory and swap together, and only where swap accounting is compiled in.
  void noSwap(long bytes) throws KernelException {
    try {
      file("memory.memsw.limit_in_bytes").writeIfPresent(Long.toString(bytes));
    } catch (KernelException e) {
      if (!e.is(Errno.EOPNOTSUPP)) {
        throw e;
      }
    }
  }

  // KERNEL: v1 does not count the buffers of TCP and UDP sockets as memory unless they have a limit
  // of their own; without it a box could take all of the host's (net.ipv4.tcp_mem, udp_mem).
  private void sockets(long bytes) throws KernelException {
    file("memory.kmem.tcp.limit_in_bytes").writeIfPresent(Long.toString(bytes));
  }

  /** Makes the OOM killer kill the whole cgroup of its victim. v1 lacks this. */
  void oomGroup() throws KernelException {
    if (!version1) {
      file("memory.oom.group").writeIfPresent("1");
    }
  }

  /**
   * Becomes readable when the OOM killer is about to strike. v1 only: it has no memory.oom.group,
   * so the engine must end what a victim leaves.
   */
  Fd oomEvents(Scope scope) throws KernelException {
    Fd event = Fd.event(scope);
    try (var brief = new Scope()) {
      Fd control = Fd.open(brief, file("memory.oom_control").path(), Fd.Flag.READ);
      Fd.open(brief, file("cgroup.event_control").path(), Fd.Flag.WRITE)
          .writeNumbers(event, control);
    }
    return event;
  }

  long oomKills() throws KernelException {
    return file(version1 ? "memory.oom_control" : "memory.events").value("oom_kill").orElse(0L);
  }

  /** The bytes it uses now. */
  long current() throws KernelException {
    return file(version1 ? "memory.usage_in_bytes" : "memory.current").number().orElse(0L);
  }

  /**
   * Returns the most bytes it ever used; 0 if this kernel does not report it (memory.peak: Linux
   * 5.19).
   */
  long peak() throws KernelException {
    return file(version1 ? "memory.max_usage_in_bytes" : "memory.peak").number().orElse(0L);
  }

  private CgroupFile file(String name) {
    return CgroupFile.of(cgroup.path(), name);
  }
}
