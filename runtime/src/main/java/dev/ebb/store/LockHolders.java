package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Finds processes that have a removed lock file open: they still hold the lock. */
final class LockHolders {
  private LockHolders() {}

  /** KERNEL: proc(5), /proc/PID/fd: a file that was unlinked has its last name and a suffix. */
  static boolean hasRemoved(Path lock) throws KernelException {
    String removed = lock + " (deleted)";
    for (Path process : entries(Path.of("/proc"))) {
      if (Character.isDigit(process.getFileName().toString().charAt(0))) {
        for (Path fd : entries(process.resolve("fd"))) {
          if (leadsTo(fd, removed)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /** RACE: processes and descriptors go meanwhile; those of other users are none of ours. */
  private static List<Path> entries(Path directory) throws KernelException {
    try {
      return Filesystem.entries(directory);
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT) || e.is(Errno.ESRCH) || e.is(Errno.EACCES)) {
        return List.of();
      }
      throw e;
    }
  }

  private static boolean leadsTo(Path fd, String name) {
    try {
      return Files.readSymbolicLink(fd).toString().equals(name);
    } catch (IOException e) {
      // It was closed meanwhile.
      return false;
    }
  }
}
