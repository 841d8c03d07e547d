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

/** Takes a home away: what Ebb ever makes there, by its name, and nothing else. */
public final class HomeRemoval {
  /** ORDER: the locks go last, so that a process that comes meanwhile still finds them taken. */
  private static final List<String> FILES =
      List.of(
          "ebb.sock",
          "daemon.log",
          "keys",
          "keys.new",
          "keys.lock",
          "quotas",
          "quotas.new",
          "quotas.lock",
          "history",
          "history.new",
          "daemon",
          "lock");

  private final Path home;
  private final List<Path> removed = new ArrayList<>();

  private HomeRemoval(Path home) {
    this.home = home;
  }

  /**
   * What became of it.
   *
   * @param kept what Ebb did not put there; it keeps the home
   */
  public record Outcome(List<Path> removed, List<Path> kept) {
    public Outcome {
      removed = List.copyOf(removed);
      kept = List.copyOf(kept);
    }
  }

  /** Of a home whose lock the caller has, and without instances; the directory may stay. */
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

  /** What is not there, or is not what Ebb makes by this name, stays as it is. */
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
