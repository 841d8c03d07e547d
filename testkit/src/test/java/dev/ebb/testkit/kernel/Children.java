package dev.ebb.testkit.kernel;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import java.nio.file.Path;
import org.awaitility.Awaitility;

/** Looks at children. */
final class Children {
  private Children() {}

  /** Waits for its death and reaps it. */
  static Pidfd.WaitStatus awaitExit(Pidfd child) {
    return Awaitility.await().until(child::reap, java.util.Optional::isPresent).orElseThrow();
  }

  /** One line of /proc/PID/status. */
  static String field(Path status, String name) throws KernelException {
    return Filesystem.read(status)
        .lines()
        .filter(line -> line.startsWith(name + ":"))
        .map(line -> line.substring(name.length() + 1).strip())
        .findFirst()
        .orElseThrow();
  }
}
