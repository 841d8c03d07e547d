package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * One living runtime: its name is also that of its cgroup subtree.
 *
 * @param block which block of host uids is its own
 */
public record Instance(String id, Path directory, int block, Ledger ledger) {
  /** ORDER: the lock goes last, so a half-removed instance is found again and finished. */
  private static final List<String> FILES = List.of("ledger", "instance", "lock");

  private static final Pattern BLOCK = Pattern.compile("\\d{1,9}");

  static void remove(Path directory) throws KernelException {
    for (String file : FILES) {
      try {
        Filesystem.unlink(directory.resolve(file));
      } catch (KernelException e) {
        if (!e.is(Errno.ENOENT)) {
          throw e;
        }
      }
    }
    Filesystem.rmdir(directory);
  }

  /** The uid block an instance, dead or alive, has taken; none if it did not get so far. */
  static Optional<Integer> block(Path directory) throws IOException {
    return field(directory, "block").filter(BLOCK.asMatchPredicate()).map(Integer::valueOf);
  }

  static Optional<String> field(Path directory, String name) throws IOException {
    List<String> lines;
    try {
      lines = Files.readAllLines(directory.resolve("instance"));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
    return lines.stream()
        .filter(line -> line.startsWith(name + "="))
        .map(line -> line.substring(name.length() + 1))
        .findFirst();
  }
}
