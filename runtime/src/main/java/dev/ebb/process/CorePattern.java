package dev.ebb.process;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.file.Path;

/**
 * Where the kernel puts the core of a process that dies: one setting for the whole machine, see
 * core(5).
 *
 * @param text the content of {@code /proc/sys/kernel/core_pattern}
 */
public record CorePattern(String text) {
  private static final Path SETTING = Path.of("/proc/sys/kernel/core_pattern");

  /** The receiver of a core dump. */
  public enum Kind {
    /** A file; a box has RLIMIT_CORE 1, less than any core needs. */
    FILE,
    /** KERNEL: a program, run as root of the host, but not at RLIMIT_CORE 1. */
    PROGRAM,
    /** KERNEL: a program behind a socket, since Linux 6.16, which no RLIMIT_CORE stops. */
    SOCKET
  }

  public static CorePattern ofThisHost() throws KernelException {
    return new CorePattern(Filesystem.read(SETTING).strip());
  }

  public Kind kind() {
    if (text.startsWith("@")) {
      return Kind.SOCKET;
    }
    return text.startsWith("|") ? Kind.PROGRAM : Kind.FILE;
  }
}
