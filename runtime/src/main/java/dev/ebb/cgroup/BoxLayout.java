package dev.ebb.cgroup;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The paths of the cgroups of one box: {@code <box>/init} for its pid 1 beside {@code
 * <box>/work/<exec>} for commands and {@code <box>/lane/<exec>} for an operator's, in version 2; in
 * hybrid mode also one flat cgroup in each v1 hierarchy. Makes nothing.
 */
final class BoxLayout {
  private static final String LANE_SUFFIX = "-lane";

  private final Hierarchies hierarchies;
  private final String name;
  private final List<Path> paths;
  private final List<Path> lanePaths;

  /** Names the cgroups; {@code name} is {@code <instance>/<box>}. */
  BoxLayout(Hierarchies hierarchies, String name) {
    this.hierarchies = hierarchies;
    this.name = name;
    paths = hierarchies.everywhere(name);
    lanePaths = hierarchies.everywhere(name + LANE_SUFFIX).subList(1, paths.size());
  }

  /** Returns one directory a hierarchy, that of version 2 first. */
  List<Path> paths() {
    return paths;
  }

  List<Path> version1Paths() {
    return paths.subList(1, paths.size());
  }

  /** KERNEL: a v1 limit holds for all below it, so there the lane lies beside the box. */
  List<Path> lanePaths() {
    return lanePaths;
  }

  Cgroup box() {
    return new Cgroup(paths.getFirst());
  }

  Cgroup init() {
    return box().child("init");
  }

  Cgroup work() {
    return box().child("work");
  }

  Cgroup lane() {
    return box().child("lane");
  }

  Optional<Cgroup> version1(String controller) {
    return version1(controller, "");
  }

  Optional<Cgroup> version1Lane(String controller) {
    return version1(controller, LANE_SUFFIX);
  }

  private Optional<Cgroup> version1(String controller, String suffix) {
    return Optional.ofNullable(hierarchies.version1().get(controller))
        .map(root -> new Cgroup(root.resolve(name + suffix)));
  }

  /** Returns the beginning of /proc/PID/cgroup for a process in the box. */
  String prefix() {
    return hierarchies.prefix() + "/" + name + "/";
  }

  /** Returns whether controllers are those of version 1. */
  boolean isHybrid() {
    return hierarchies.mode() == CgroupMode.HYBRID;
  }

  /** Returns whether controllers are those of version 2, and each cgroup delegates them. */
  boolean isVersion2() {
    return hierarchies.mode() == CgroupMode.V2;
  }

  /** The memory of the commands; in v1 with that of init. */
  MemoryController memory() {
    return new MemoryController(version1("memory").orElse(work()), isHybrid());
  }

  /** The tasks of the commands; in v1 with init. */
  PidsController pids() {
    return new PidsController(version1("pids").orElse(work()));
  }
}
