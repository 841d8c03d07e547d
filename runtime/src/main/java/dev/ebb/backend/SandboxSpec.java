package dev.ebb.backend;

import dev.ebb.cgroup.ByteSize;
import java.nio.file.Path;
import java.util.List;

/**
 * What a box sees of the world.
 *
 * @param packages read-only directories of installed packages, in order of precedence
 * @param hidesCgroups give it a cgroup namespace, so that it does not see the name of its cgroup
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

  public static final String WORKSPACE = "/workspace";

  /** Where the n-th package directory appears. */
  public static String packagePath(int n) {
    return "/packages/" + n;
  }

  public SandboxSpec {
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
  }
}
