package dev.ebb.cgroup;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.file.Path;
import java.util.Optional;

/** One control file of a cgroup directory. */
record CgroupFile(Path path) {
  static CgroupFile of(Path directory, String name) {
    return new CgroupFile(directory.resolve(name));
  }

  String read() throws KernelException {
    return Filesystem.readCgroupFile(path);
  }

  /** Nothing if this kernel or controller has no such file, or the cgroup is gone. */
  Optional<String> readIfPresent() throws KernelException {
    try {
      return Optional.of(read());
    } catch (KernelException e) {
      if (Cgroup.isGone(e)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  void write(String text) throws KernelException {
    try (var scope = new Scope()) {
      Fd.open(scope, path, Fd.Flag.WRITE).write(text);
    }
  }

  /** False if this kernel or controller has no such file. */
  boolean writeIfPresent(String text) throws KernelException {
    try {
      write(text);
      return true;
    } catch (KernelException e) {
      if (e.is(Errno.ENOENT)) {
        return false;
      }
      throw e;
    }
  }

  /** The value behind {@code key} in a flat keyed file such as cgroup.events. */
  Optional<Long> value(String key) throws KernelException {
    return readIfPresent().flatMap(text -> value(text, key));
  }

  static Optional<Long> value(String text, String key) {
    return text.lines()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(key.length()))
        .filter(rest -> rest.startsWith(" ") || rest.startsWith("\t"))
        .map(rest -> Long.valueOf(rest.strip()))
        .findFirst();
  }

  /** The number in a single-value file. */
  Optional<Long> number() throws KernelException {
    return readIfPresent().map(text -> Long.valueOf(text.strip()));
  }
}
