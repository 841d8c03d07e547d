package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Removes a home: only files with the names that Ebb uses there. */
public final class HomeRemoval {
  /** ORDER: the locks are removed last, so that a concurrent process still finds them taken. */
  private static final List<String> FILES =
      List.of(
          "ebb.sock",
          "ebb.sock.cli",
          "own.sock",
          "daemon.log",
          "keys",
          "keys.new",
          "keys.lock",
          "quotas",
          "quotas.new",
          "quotas.lock",
          "history",
          "history.new",
          "certificates",
          "certificates.new",
          "daemon",
          "lock");

  private final Path home;
  private final List<Path> removed = new ArrayList<>();

  private HomeRemoval(Path home) {
    this.home = home;
  }

  /**
   * The result of a removal.
   *
   * @param kept foreign files; if there are any, the home stays
   */
  public record Outcome(List<Path> removed, List<Path> kept) {
    public Outcome {
      removed = List.copyOf(removed);
      kept = List.copyOf(kept);
    }
  }

  /** Removes a home without instances, whose lock the caller holds; the directory may stay. */
  static Outcome remove(Path home, boolean keepsDirectory) throws KernelException, IOException {
    return new HomeRemoval(home).remove(keepsDirectory);
  }

  private Outcome remove(boolean keepsDirectory) throws KernelException, IOException {
    try (var scope = new Scope()) {
      keepDaemonsOut(scope);
      for (Path program : list("lib")) {
        if (String.valueOf(program.getFileName()).startsWith("ebb-init")) {
          unlink(program);
        }
      }
      rmdir(home.resolve("instances"));
      rmdir(home.resolve("lib"));
      for (String file : FILES) {
        unlink(home.resolve(file));
      }
      if (!keepsDirectory) {
        rmdir(home);
      }
    }
    return new Outcome(removed, Files.exists(home) ? list("") : List.of());
  }

  private void keepDaemonsOut(Scope scope) throws KernelException {
    Path file = home.resolve("daemon");
    if (Files.exists(file)
        && !Filesystem.tryLock(Fd.open(scope, file, Fd.Flag.READ_WRITE, Fd.Flag.NOFOLLOW))) {
      throw new KernelException("remove " + home + ", a daemon has it", Errno.EBUSY);
    }
  }

  private List<Path> list(String name) throws IOException {
    Path directory = home.resolve(name);
    if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
      return List.of();
    }
    try (var entries = Files.list(directory)) {
      return entries.sorted().toList();
    }
  }

  private void unlink(Path file) throws KernelException {
    attempt(file, () -> Filesystem.unlink(file));
  }

  private void rmdir(Path directory) throws KernelException {
    attempt(directory, () -> Filesystem.rmdir(directory));
  }

  private interface Removal {
    void run() throws KernelException;
  }

  /** Skips a missing file, and one that is not of the kind that Ebb makes by this name. */
  private void attempt(Path path, Removal removal) throws KernelException {
    try {
      removal.run();
      removed.add(path);
    } catch (KernelException e) {
      boolean theirs =
          e.is(Errno.ENOTEMPTY) || e.is(Errno.EEXIST) || e.is(Errno.ENOTDIR) || e.is(Errno.EISDIR);
      // KERNEL: EBUSY for a mount.
      if (!e.is(Errno.ENOENT) && !e.is(Errno.EBUSY) && !theirs) {
        throw e;
      }
    }
  }
}
