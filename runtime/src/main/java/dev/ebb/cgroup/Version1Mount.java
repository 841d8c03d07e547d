package dev.ebb.cgroup;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A mounted hierarchy of version 1.
 *
 * @param root the cgroup that is mounted, as /proc/PID/cgroup names it
 */
record Version1Mount(Path point, String root, List<String> controllers) {
  /** Whose limits hold for all below. The freezer has none, and must not keep us from a kill. */
  private static final List<String> LIMITING = List.of("pids", "memory", "cpu");

  Version1Mount {
    controllers = List.copyOf(controllers);
  }

  /**
   * Where Ebb's own go: below the cgroup that this process is in, so that a limit around it is one
   * around its boxes; at the mount where nothing is limited, or our own cgroup cannot be seen.
   */
  Path base(Hierarchies.Place place) {
    return controllers.stream()
        .filter(LIMITING::contains)
        .flatMap(controller -> Optional.ofNullable(place.version1().get(controller)).stream())
        .findFirst()
        .flatMap(this::below)
        .orElse(point);
  }

  /** KERNEL: a bind mount shows a part of the hierarchy; a path with ".." lies outside of ours. */
  private Optional<Path> below(String cgroup) {
    Path own = Path.of(cgroup);
    Path top = Path.of(root);
    if (!own.startsWith(top) || !own.equals(own.normalize())) {
      return Optional.empty();
    }
    return Optional.of(point.resolve(top.relativize(own)).normalize()).filter(Files::isDirectory);
  }
}
