package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** How long commands of a box could not go on for want of something: the kernel's PSI. */
public record Pressure(Stall cpu, Stall memory, Stall io) {
  /**
   * While at least one of them waited.
   *
   * @param percent of the last ten seconds
   * @param total since the box was made
   */
  public record Stall(double percent, Duration total) {}

  private static final Pattern SOME =
      Pattern.compile("^some avg10=(\\d+\\.\\d+) .*\\btotal=(\\d+)$", Pattern.MULTILINE);

  /** Empty where the kernel keeps no such account. */
  static Optional<Pressure> of(Cgroup cgroup) throws KernelException {
    var cpu = stall(cgroup, "cpu.pressure");
    var memory = stall(cgroup, "memory.pressure");
    var io = stall(cgroup, "io.pressure");
    return cpu.isPresent() && memory.isPresent() && io.isPresent()
        ? Optional.of(new Pressure(cpu.get(), memory.get(), io.get()))
        : Optional.empty();
  }

  private static Optional<Stall> stall(Cgroup cgroup, String file) throws KernelException {
    try {
      return CgroupFile.of(cgroup.path(), file).readIfPresent().flatMap(Pressure::parse);
    } catch (KernelException e) {
      // KERNEL: with psi=0, or cgroup.pressure 0, the files may be there and not be read.
      if (e.is(Errno.EOPNOTSUPP)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private static Optional<Stall> parse(String text) {
    var some = SOME.matcher(text);
    return some.find()
        ? Optional.of(
            new Stall(
                Double.parseDouble(some.group(1)),
                Duration.ofNanos(Long.parseLong(some.group(2)) * 1000)))
        : Optional.empty();
  }
}
