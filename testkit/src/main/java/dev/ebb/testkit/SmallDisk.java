package dev.ebb.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A small file system of its own, which can be filled and freed again: a tmpfs. Needs root; closing
 * it unmounts it.
 */
public final class SmallDisk implements AutoCloseable {
  private static final int PAGE = 4096;

  private final Path directory;

  private SmallDisk(Path directory) {
    this.directory = directory;
  }

  /** A new one, in a directory of its own that only root can enter. */
  public static SmallDisk mount(long bytes) throws IOException {
    String ours = "ebb-disk-%d-".formatted(ProcessHandle.current().pid());
    Path directory = Files.createTempDirectory(ours);
    run("mount", "-t", "tmpfs", "-o", "mode=700,size=" + bytes, "none", directory.toString());
    return new SmallDisk(directory);
  }

  public Path directory() {
    return directory;
  }

  /** Leaves no block free. */
  public void fill() throws IOException {
    for (int size = 1 << 20; size >= PAGE; size /= 16) {
      try (var out =
          Files.newOutputStream(filler(), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
        byte[] bytes = new byte[size];
        while (true) {
          out.write(bytes);
        }
      } catch (IOException e) {
        if (!String.valueOf(e.getMessage()).contains("No space left")) {
          throw e;
        }
      }
    }
  }

  /** Takes back what {@link #fill} took. */
  public void free() throws IOException {
    Files.deleteIfExists(filler());
  }

  private Path filler() {
    return directory.resolve("filler");
  }

  @Override
  public void close() throws IOException {
    run("umount", directory.toString());
    Files.delete(directory);
  }

  private static void run(String... command) throws IOException {
    int status = new ProcessBuilder(command).inheritIO().start().onExit().join().exitValue();
    if (status != 0) {
      throw new IOException(String.join(" ", command) + ": exit " + status);
    }
  }
}
