package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds locks that processes have open, including those of removed files, which are still held. */
final class LockHolders {
  private LockHolders() {}

  /** KERNEL: proc(5), /proc/PID/fd: an unlinked file shows its last name and a suffix. */
  static boolean hasRemoved(Path lock) throws KernelException {
    return !held(Pattern.compile("(" + Pattern.quote(lock.toString()) + ") \\(deleted\\)"))
        .isEmpty();
  }

  /**
   * Returns the names of directories below a directory of that name whose lock is open, removed or
   * not.
   */
  static Set<String> instances(String parent) throws KernelException {
    return held(Pattern.compile(".*/" + Pattern.quote(parent) + "/([^/]+)/lock( \\(deleted\\))?"));
  }

  /** Returns the matches of the first group of {@code name} in the names of open files. */
  private static Set<String> held(Pattern name) throws KernelException {
    var held = new HashSet<String>();
    for (Path process : entries(Path.of("/proc"))) {
      if (Character.isDigit(process.getFileName().toString().charAt(0))) {
        for (Path fd : entries(process.resolve("fd"))) {
          Matcher found = name.matcher(target(fd));
          if (found.matches()) {
            held.add(found.group(1));
          }
        }
      }
    }
    return held;
  }

  /**
   * RACE: processes and descriptors may disappear meanwhile; those of other users do not matter.
   */
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

  private static String target(Path fd) {
    try {
      return Files.readSymbolicLink(fd).toString();
    } catch (IOException e) {
      // It was closed meanwhile.
      return "";
    }
  }
}
