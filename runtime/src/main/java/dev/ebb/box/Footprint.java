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

/** What a box has on the host and uses of it, as the kernel shows it now. Thread-safe. */
public final class Footprint {
  private final BoxParts parts;

  Footprint(BoxParts parts) {
    this.parts = parts;
  }

  /** The host uid of every process of the box. */
  public int uid() {
    return parts.holdings().uid();
  }

  /** The host pid of its pid 1. */
  public int initPid() {
    return parts.init().pid();
  }

  /** The name of the backend that made it; empty when an engine made it that recorded none. */
  public Optional<String> backend() {
    return parts.backend().name();
  }

  /** Every process of the box, by its host pid. */
  public List<Integer> pids() {
    try {
      return parts.enclosure().procs();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** What the engine has open for it. */
  public List<String> descriptors() {
    return parts.scope().contents();
  }

  /** Its cgroups, one a hierarchy; none where processes are held together without. */
  public List<Path> cgroups() {
    return parts.enclosure().paths();
  }

  /** Cgroups of commands that have ended, which only a sweep removes. */
  public List<Path> strayLeaves() {
    return parts.enclosure().leaves().strays();
  }

  /** Whether a command has a cgroup. */
  public boolean hasLeaf() {
    return parts.enclosure().leaves().last() != 0;
  }

  /** Its directory; empty: it was not made. */
  public Optional<Path> directory() {
    return Optional.of(parts.directory().path()).filter(_ -> parts.directory().exists());
  }

  /** Where its init listens for the next engine; empty: nowhere. */
  public Optional<Path> controlSocket() {
    return parts.directory().controlSocket();
  }

  /** What its commands used by the kernel's own count; empty where only init knows. */
  public Optional<CgroupUsage> usage() throws KernelException {
    return parts.backend().has(Capability.LEAVES)
        ? parts.enclosure().accounting().usage()
        : Optional.empty();
  }

  /** What its commands take now; empty where no cgroup counts it. */
  public Optional<Occupancy> occupancy() throws KernelException {
    return parts.enclosure().accounting().occupancy();
  }

  /** What its commands had to wait for; empty where the kernel keeps no such account. */
  public Optional<StallTimes> pressure() throws KernelException {
    return parts.enclosure().accounting().pressure();
  }
}
