package dev.ebb.box;

import dev.ebb.backend.Capability;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Occupancy;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StallTimes;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What a box holds and uses on the host, as the kernel shows it now. Thread-safe. */
public final class Footprint {
  private final BoxParts parts;

  Footprint(BoxParts parts) {
    this.parts = parts;
  }

  /** Returns the host uid of every process of the box. */
  public int uid() {
    return parts.holdings().uid();
  }

  /** Returns the host pid of its pid 1. */
  public int initPid() {
    return parts.init().pid();
  }

  /** Returns the name of the backend that made it; empty if the engine recorded none. */
  public Optional<String> backend() {
    return parts.backend().name();
  }

  /** Returns every process of the box, by host pid. */
  public List<Integer> pids() {
    try {
      return parts.enclosure().procs();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Returns the descriptors that the engine has open for it. */
  public List<String> descriptors() {
    return parts.scope().contents();
  }

  /** Returns its cgroups, one per hierarchy; none where processes are tracked without cgroups. */
  public List<Path> cgroups() {
    return parts.enclosure().paths();
  }

  /** Returns the cgroups of ended commands that only a sweep removes. */
  public List<Path> strayLeaves() {
    return parts.enclosure().leaves().strays();
  }

  /** Returns whether a command has a cgroup. */
  public boolean hasLeaf() {
    return parts.enclosure().leaves().last() != 0;
  }

  /** Returns its directory; empty if it was not made. */
  public Optional<Path> directory() {
    return Optional.of(parts.directory().path()).filter(_ -> parts.directory().exists());
  }

  /**
   * Returns the socket on which its init listens for the next engine; empty: it does not listen.
   */
  public Optional<Path> controlSocket() {
    return parts.directory().controlSocket();
  }

  /** Returns what its commands used by the kernel's count; empty where only init knows. */
  public Optional<CgroupUsage> usage() throws KernelException {
    return parts.backend().has(Capability.LEAVES)
        ? parts.enclosure().accounting().usage()
        : Optional.empty();
  }

  /** Returns what its commands use now; empty where no cgroup counts it. */
  public Optional<Occupancy> occupancy() throws KernelException {
    return parts.enclosure().accounting().occupancy();
  }

  /** Returns how long its commands stalled; empty where the kernel does not count it. */
  public Optional<StallTimes> pressure() throws KernelException {
    return parts.enclosure().accounting().pressure();
  }
}
