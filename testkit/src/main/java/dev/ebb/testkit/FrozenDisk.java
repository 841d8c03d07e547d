package dev.ebb.testkit;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A small file system on a loop device that can be frozen: writers wait then. */
public final class FrozenDisk {
  private final Path directory;
  private boolean frozen;

  private FrozenDisk(Path directory) {
    this.directory = directory;
  }

  public static FrozenDisk mount() throws IOException, InterruptedException {
    String ours = "ebb-disk-%d-".formatted(ProcessHandle.current().pid());
    var disk = new FrozenDisk(Files.createTempDirectory(ours));
    Path image = disk.directory.resolve("image");
    Files.createDirectory(disk.path());
    try (var file =
        Files.newByteChannel(image, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      file.position(16 << 20).write(ByteBuffer.allocate(1));
    }
    run("mke2fs", "-q", "-t", "ext4", image.toString());
    run("mount", "-o", "loop", image.toString(), disk.path().toString());
    return disk;
  }

  /** Where it is mounted. */
  public Path path() {
    return directory.resolve("mounted");
  }

  public void freeze() throws IOException, InterruptedException {
    run("fsfreeze", "--freeze", path().toString());
    frozen = true;
  }

  public void thaw() throws IOException, InterruptedException {
    if (frozen) {
      run("fsfreeze", "--unfreeze", path().toString());
      frozen = false;
    }
  }

  /** Thaws it, and removes all of it. */
  public void unmount() throws IOException, InterruptedException {
    thaw();
    run("umount", path().toString());
    Directories.remove(directory);
  }

  private static void run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ": " + output);
    }
  }
}
