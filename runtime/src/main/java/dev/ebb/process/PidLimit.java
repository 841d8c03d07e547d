package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * How many processes and threads there may be beside and below this one.
 *
 * @param source what sets it
 */
public record PidLimit(long max, String source) {
  /** Where hosts mount hierarchies that may count processes. */
  private static final List<String> CGROUPS =
      List.of("sys/fs/cgroup", "sys/fs/cgroup/pids", "sys/fs/cgroup/unified");

  /** The tightest of all that hold here. */
  public static PidLimit tightest() throws KernelException {
    return tightest(Path.of("/"));
  }

  /** The same by the files below {@code root}. */
  static PidLimit tightest(Path root) throws KernelException {
    var limits = new ArrayList<PidLimit>();
    for (String setting : List.of("pid_max", "threads-max")) {
      read(root.resolve("proc/sys/kernel").resolve(setting)).ifPresent(limits::add);
    }
    String own = Filesystem.read(root.resolve("proc/self/limits"));
    limits.add(new PidLimit(ProcFs.limit(own, "Max processes"), "RLIMIT_NPROC"));
    String cgroups = Filesystem.read(root.resolve("proc/self/cgroup"));
    for (String mount : CGROUPS) {
      for (String path : ProcFs.cgroups(cgroups)) {
        limits.addAll(upwards(root.resolve(mount), path));
      }
    }
    return limits.stream().min(Comparator.comparingLong(PidLimit::max)).orElseThrow();
  }

  /** KERNEL: all on the way up hold; in a container the way ends at the root we see. */
  private static List<PidLimit> upwards(Path mount, String path) throws KernelException {
    var limits = new ArrayList<PidLimit>();
    Path each = mount.resolve(path);
    while (each != null && each.startsWith(mount)) {
      read(each.resolve("pids.max")).ifPresent(limits::add);
      each = each.getParent();
    }
    return limits;
  }

  /** Empty where there is no such file, or no limit in it. */
  private static Optional<PidLimit> read(Path path) throws KernelException {
    try {
      String text = Filesystem.read(path).strip();
      return text.equals("max")
          ? Optional.empty()
          : Optional.of(new PidLimit(Long.parseLong(text), path.toString()));
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT)) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
