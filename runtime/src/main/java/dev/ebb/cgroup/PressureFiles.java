package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.StallTimes;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** The pressure files of a cgroup. */
final class PressureFiles {
  private static final Pattern SOME =
      Pattern.compile("^some avg10=(\\d+\\.\\d+) .*\\btotal=(\\d+)$", Pattern.MULTILINE);

  private PressureFiles() {}

  /** Empty where the kernel keeps no such account. */
  static Optional<StallTimes> of(Cgroup cgroup) throws KernelException {
    var cpu = stall(cgroup, "cpu.pressure");
    var memory = stall(cgroup, "memory.pressure");
    var io = stall(cgroup, "io.pressure");
    return cpu.isPresent() && memory.isPresent() && io.isPresent()
        ? Optional.of(new StallTimes(cpu.get(), memory.get(), io.get()))
        : Optional.empty();
  }

  private static Optional<StallTimes.Stall> stall(Cgroup cgroup, String file)
      throws KernelException {
    try {
      return CgroupFile.of(cgroup.path(), file).readIfPresent().flatMap(PressureFiles::parse);
    } catch (KernelException e) {
      // KERNEL: with psi=0, or cgroup.pressure 0, the files may be there and not be read.
      if (e.is(Errno.EOPNOTSUPP)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private static Optional<StallTimes.Stall> parse(String text) {
    var some = SOME.matcher(text);
    return some.find()
        ? Optional.of(
            new StallTimes.Stall(
                Double.parseDouble(some.group(1)),
                Duration.ofNanos(Long.parseLong(some.group(2)) * 1000)))
        : Optional.empty();
  }
}
