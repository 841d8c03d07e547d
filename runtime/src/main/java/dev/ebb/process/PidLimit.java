package dev.ebb.process;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * How many processes and threads there may be beside and below this one.
 *
 * @param source what sets it
 */
public record PidLimit(long max, String source) {
  public static final String RLIMIT = "RLIMIT_NPROC";

  /** The tightest of all that hold here. */
  public static PidLimit tightest() throws KernelException {
    return tightest(Path.of("/"));
  }

  /** Returns the tightest limit, read from the files below {@code root}. */
  static PidLimit tightest(Path root) throws KernelException {
    return all(root).stream().min(Comparator.comparingLong(PidLimit::max)).orElseThrow();
  }

  /** All that hold, by the files below {@code root}. */
  public static List<PidLimit> all(Path root) throws KernelException {
    var limits = new ArrayList<PidLimit>();
    for (String setting : List.of("pid_max", "threads-max")) {
      add(limits, root.resolve("proc/sys/kernel").resolve(setting));
    }
    String own = Filesystem.read(root.resolve("proc/self/limits"));
    limits.add(new PidLimit(ProcFs.limit(own, "Max processes"), RLIMIT));
    for (Path cgroup : CgroupChain.of(root, "pids")) {
      add(limits, cgroup.resolve("pids.max"));
    }
    return limits;
  }

  private static void add(List<PidLimit> limits, Path file) throws KernelException {
    CgroupChain.number(file).ifPresent(max -> limits.add(new PidLimit(max, file.toString())));
  }
}
