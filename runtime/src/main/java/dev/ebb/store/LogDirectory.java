package dev.ebb.store;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The output of the commands of one box and, if it is detached, its record, in a directory that no
 * other user can enter.
 */
public record LogDirectory(Path path) {
  /** The socket on which the init of a detached box listens. */
  public static final String CONTROL = "control";

  private static final int TRIES = 100;
  private static final Pattern LOG = Pattern.compile("\\d{1,9}\\.(stdout|stderr)");

  public void create() throws KernelException {
    Filesystem.mkdir(path, 0700);
  }

  public Path log(int exec, String stream) {
    return path.resolve(exec + "." + stream);
  }

  /** The highest number of an exec with output here; 0 if none. */
  public int lastExec() throws KernelException {
    return files().stream()
        .map(file -> file.getFileName().toString())
        .filter(name -> LOG.matcher(name).matches())
        .mapToInt(name -> Integer.parseInt(name.substring(0, name.indexOf('.'))))
        .max()
        .orElse(0);
  }

  /** Returns the file of the record of a detached box, see {@link RecordStore#box}. */
  public Path recordFile() {
    return path.resolve("record");
  }

  public Path control() {
    return path.resolve(CONTROL);
  }

  /** Removes it with its files; no-op if absent. */
  public void remove() throws KernelException {
    for (int left = TRIES; ; left--) {
      try {
        removeNow();
        return;
      } catch (KernelException e) {
        // RACE: the end of a command may be recorded while its box is removed.
        if (!e.is(Errno.ENOTEMPTY) || left == 0) {
          throw e;
        }
      }
    }
  }

  /** Most execs have no file here. */
  private boolean removeEmpty() throws KernelException {
    try {
      Step.RMDIR_LOGS.reach();
      Filesystem.rmdirIfPresent(path);
      return true;
    } catch (KernelException e) {
      if (!e.is(Errno.ENOTEMPTY)) {
        throw e;
      }
      return false;
    }
  }

  private void removeNow() throws KernelException {
    if (removeEmpty()) {
      return;
    }
    Path last = recordFile();
    var failures = new ArrayList<KernelException>();
    for (Path file : files()) {
      if (!file.equals(last)) {
        unlink(file, failures);
      }
    }
    if (!failures.isEmpty()) {
      KernelException first = failures.removeFirst();
      failures.forEach(first::addSuppressed);
      throw first;
    }
    // ORDER: the record is removed last, so every remaining file belongs to a known box.
    Step.UNLINK_RECORD.reach();
    Filesystem.unlinkIfPresent(last);
    Filesystem.rmdirIfPresent(path);
  }

  /** A file that cannot be removed does not stop the removal of others. */
  private static void unlink(Path file, List<KernelException> failures) {
    try {
      Filesystem.unlinkIfPresent(file);
    } catch (KernelException e) {
      failures.add(e);
    }
  }

  private List<Path> files() throws KernelException {
    try (var files = Files.list(path)) {
      return files.toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new KernelException("list " + path + " (" + e + ")", Errno.EIO);
    }
  }
}
