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
  private static final List<Path> CGROUPS =
      List.of(
          Path.of("/sys/fs/cgroup"),
          Path.of("/sys/fs/cgroup/pids"),
          Path.of("/sys/fs/cgroup/unified"));

  /** The tightest of all that hold here. */
  public static PidLimit tightest() throws KernelException {
    var limits = new ArrayList<PidLimit>();
    for (String sysctl : List.of("pid_max", "threads-max")) {
      read(Path.of("/proc/sys/kernel", sysctl)).ifPresent(limits::add);
    }
    limits.add(new PidLimit(ProcFs.limit("Max processes"), "RLIMIT_NPROC"));
    for (Path root : CGROUPS) {
      for (String own : ProcFs.ownCgroups()) {
        // KERNEL: all on the way up hold; in a container the way ends at the root we see.
        Path each = root.resolve(own);
        while (each != null && each.startsWith(root)) {
          read(each.resolve("pids.max")).ifPresent(limits::add);
          each = each.getParent();
        }
      }
    }
    return limits.stream().min(Comparator.comparingLong(PidLimit::max)).orElseThrow();
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
