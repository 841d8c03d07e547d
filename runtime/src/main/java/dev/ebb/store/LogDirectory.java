package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** What the commands of one box wrote: plain files, in a directory that nobody else can enter. */
public record LogDirectory(Path path) {
  public void create() throws KernelException {
    Filesystem.mkdir(path, 0700);
  }

  public Path log(int exec, String stream) {
    return path.resolve(exec + "." + stream);
  }

  /** Removes it with its files; what is absent is success. */
  public void remove() throws KernelException {
    for (Path file : files()) {
      Filesystem.unlinkIfPresent(file);
    }
    Filesystem.rmdirIfPresent(path);
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
