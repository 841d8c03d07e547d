package dev.ebb.store;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.ledger.Ledger;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/**
 * One living runtime. Its name is also that of its cgroup subtree.
 *
 * @param uid the first of its block of host uids; negative if its boxes share the uid of its
 *     process
 * @param resumed whether another process had it before; its ledger may list that process's
 *     leftovers
 */
public record Instance(String id, Path directory, int uid, Ledger ledger, boolean resumed) {
  private static final String DESCRIPTION = "instance";
  private static final String NEXT_DESCRIPTION = "instance.new";

  /** ORDER: the lock is removed last, so a partial removal is found again and finished. */
  private static final List<String> FILES =
      List.of(Ledger.NEXT, "ledger", NEXT_DESCRIPTION, DESCRIPTION, "lock");

  /** Written whole or not at all. */
  static void describe(Path directory, String boot, int uid, String process, String kind)
      throws IOException {
    Path next = directory.resolve(NEXT_DESCRIPTION);
    Files.writeString(
        next, "boot=%s%nuids=%d%nprocess=%s%nkind=%s%n".formatted(boot, uid, process, kind));
    Files.move(next, directory.resolve(DESCRIPTION), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Returns the directory for the output of a box's commands. */
  public LogDirectory logs(String box) {
    return new LogDirectory(directory.resolve(box));
  }

  /** Returns the file whose lock a living instance holds. */
  static Fd lockFile(Scope scope, Path directory) throws KernelException {
    return Fd.open(scope, directory.resolve("lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
  }

  static void remove(Path directory) throws KernelException {
    Step.FORGET_INSTANCE.reach();
    for (String file : FILES) {
      try {
        Filesystem.unlink(directory.resolve(file));
      } catch (KernelException e) {
        if (!e.is(Errno.ENOENT)) {
          throw e;
        }
      }
    }
    Step.RMDIR_INSTANCE.reach();
    Filesystem.rmdir(directory);
  }

  /** Returns the first uid that an instance, dead or alive, has claimed. */
  static Optional<Integer> uid(Path directory) throws IOException {
    return field(directory, "uids").flatMap(UidRange::parse);
  }

  static Optional<String> field(Path directory, String name) throws IOException {
    String text;
    try {
      text = Files.readString(directory.resolve(DESCRIPTION), StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new IOException(
          "cannot read " + directory.resolve(DESCRIPTION) + ": " + e.getMessage(), e);
    }
    return text.lines()
        .filter(line -> line.startsWith(name + "="))
        .map(line -> line.substring(name.length() + 1))
        .findFirst();
  }
}
