package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;

/** The cgroups this process is in, and all above them: the limits of each of them hold. */
public final class CgroupChain {
  private static final Path MOUNTS = Path.of("sys/fs/cgroup");

  private CgroupChain() {}

  /**
   * Returns the cgroups of this process for a controller of either version, the innermost first;
   * some may not exist.
   *
   * @param root the directory above /proc and /sys
   */
  public static List<Path> of(Path root, String controller) throws KernelException {
    var chain = new LinkedHashSet<Path>();
    for (String line : Filesystem.read(root.resolve("proc/self/cgroup")).lines().toList()) {
      // KERNEL: number, controllers, path; a path may have colons of its own.
      String[] words = line.split(":", 3);
      String path = words[2].substring(1);
      for (Path mount : mounts(root.resolve(MOUNTS), words[1], controller)) {
        chain.addAll(upwards(mount, path));
      }
    }
    return List.copyOf(chain);
  }

  /** Where hosts mount a hierarchy; none when it is without the controller. */
  private static List<Path> mounts(Path all, String controllers, String controller) {
    if (controllers.isEmpty()) {
      return List.of(all, all.resolve("unified"));
    }
    return List.of(controllers.split(",")).contains(controller)
        ? List.of(all.resolve(controllers), all.resolve(controller))
        : List.of();
  }

  /** KERNEL: all on the way up hold; in a container the way ends at the root we see. */
  private static List<Path> upwards(Path mount, String path) {
    var chain = new ArrayList<Path>();
    Path each = mount.resolve(path).normalize();
    if (!each.startsWith(mount)) {
      return List.of(mount);
    }
    while (each != null && each.startsWith(mount)) {
      chain.add(each);
      each = each.getParent();
    }
    return chain;
  }

  /** The number in a file of a cgroup; empty where there is no such file, or no limit in it. */
  public static Optional<Long> number(Path file) throws KernelException {
    return text(file).filter(text -> !text.isEmpty() && !text.equals("max")).map(Long::valueOf);
  }

  /** Reads a file of a cgroup, if the cgroup has such a file. */
  public static Optional<String> text(Path file) throws KernelException {
    try {
      return Optional.of(Filesystem.read(file).strip());
    } catch (KernelException e) {
      // KERNEL: a cgroup that was removed after the open answers ENODEV.
      if (e.is(Errno.ENOENT) || e.is(Errno.ENODEV)) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
