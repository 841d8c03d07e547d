package dev.ebb.cgroup;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.MountTable;
import dev.ebb.process.ProcFs;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The members of a cgroup and of all below it, from /proc/PID/cgroup: used when the cgroup's own
 * files cannot be read.
 *
 * @param controllers of its hierarchy; empty: version 2
 * @param path as /proc/PID/cgroup prints it
 */
record ProcMembers(List<String> controllers, String path) {
  /** KERNEL: proc(5), mountinfo: number, parent, device, root, mount point, … */
  private static final int ROOT = 3;

  private static final int MOUNT_POINT = 4;

  ProcMembers {
    controllers = List.copyOf(controllers);
  }

  /** Empty when {@code directory} lies in no cgroup file system. */
  static Optional<ProcMembers> of(Path directory) throws KernelException {
    return of(Filesystem.read(Path.of("/proc/self/mountinfo")), directory);
  }

  /** The latest of the nearest mounts holds: it covers all before. */
  static Optional<ProcMembers> of(String mountinfo, Path directory) {
    Optional<ProcMembers> found = Optional.empty();
    int nearest = -1;
    for (String line : mountinfo.lines().toList()) {
      String[] halves = line.split(" - ", 2);
      String[] mount = halves[0].split(" ");
      Path point = MountTable.path(mount[MOUNT_POINT]);
      if (directory.startsWith(point) && point.getNameCount() >= nearest) {
        nearest = point.getNameCount();
        found = in(mount[ROOT], point, halves[1].split(" "), directory);
      }
    }
    return found;
  }

  private static Optional<ProcMembers> in(String root, Path point, String[] type, Path directory) {
    boolean isVersion1 = type[0].equals("cgroup");
    // SAFETY: every process is in or below the root of a hierarchy.
    if ((!isVersion1 && !type[0].equals("cgroup2")) || directory.equals(point)) {
      return Optional.empty();
    }
    String top = root.equals("/") ? "" : MountTable.path(root).toString();
    return Optional.of(
        new ProcMembers(
            isVersion1 ? List.of(type[2].split(",")) : List.of(),
            top + "/" + point.relativize(directory)));
  }

  /** Every living member, by its host pid. */
  List<Integer> list() {
    return ProcFs.all().stream().filter(this::holds).toList();
  }

  /** KERNEL: a zombie shows where it died, but is in no cgroup.procs. */
  boolean holds(int pid) {
    return ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isPresent()
        && ProcFs.cgroupLines(pid).stream().anyMatch(this::matches);
  }

  /** KERNEL: number, controllers, path; a path may have colons of its own. */
  private boolean matches(String line) {
    String[] words = line.split(":", 3);
    boolean isOurs =
        controllers.isEmpty()
            ? words[0].equals("0") && words[1].isEmpty()
            : !words[1].isEmpty() && controllers.containsAll(List.of(words[1].split(",")));
    return isOurs && (words[2].equals(path) || words[2].startsWith(path + "/"));
  }
}
