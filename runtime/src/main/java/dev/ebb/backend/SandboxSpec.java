package dev.ebb.backend;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import java.nio.file.Path;
import java.util.List;

/**
 * The part of the host that a box sees.
 *
 * @param packages read-only directories of installed packages, in order of precedence
 * @param hidesCgroups whether the box gets a cgroup namespace, which hides the name of its cgroup
 * @param disk size of the workspace
 * @param temporary size of /tmp, and of /dev/shm
 */
public record SandboxSpec(
    Network network,
    boolean hidesCgroups,
    List<Mount> mounts,
    List<Path> packages,
    List<CopiedFile> files,
    ByteSize disk,
    ByteSize temporary) {

  /**
   * Makes the specification of a sandbox for a box.
   *
   * @param hidesCgroups whether the box gets a cgroup namespace
   */
  public static SandboxSpec of(BoxSpec spec, boolean hidesCgroups) {
    return new SandboxSpec(
        spec.network(),
        hidesCgroups,
        spec.mounts(),
        spec.packages(),
        spec.files(),
        spec.limits().disk(),
        spec.limits().temporary());
  }

  public SandboxSpec {
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
  }
}
