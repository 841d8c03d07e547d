package dev.ebb.server.access;

import dev.ebb.box.SandboxException;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Lines in a file of the home that only its owner can read, and that anybody changes under a lock,
 * whole or not at all.
 */
final class OwnerFile {
  private final Path file;

  OwnerFile(Path home, String name) {
    file = home.resolve(name);
  }

  List<String> lines() {
    try {
      return Files.readAllLines(file);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }

  /** Changes with every change of the file; to ask opens nothing. */
  String version() {
    // Asked with every request: where there is none, that is no exception.
    if (!file.toFile().exists()) {
      return "";
    }
    try {
      var attributes = Files.readAttributes(file, BasicFileAttributes.class);
      return attributes.fileKey() + " " + attributes.lastModifiedTime() + " " + attributes.size();
    } catch (NoSuchFileException e) {
      return "";
    } catch (IOException e) {
      throw new UncheckedIOException("cannot look at " + file, e);
    }
  }

  /** {@code change} is given the lines there are, and changes them. */
  <T> T change(Function<List<String>, T> change) {
    String name = String.valueOf(file.getFileName());
    try (var scope = new Scope()) {
      Fd lock =
          Fd.open(scope, file.resolveSibling(name + ".lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
      Filesystem.lock(lock);
      var lines = new ArrayList<>(lines());
      T result = change.apply(lines);
      Path written = file.resolveSibling(name + ".new");
      Files.deleteIfExists(written);
      Files.createFile(
          written,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.write(written, lines);
      Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
      return result;
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot change " + file, e);
    }
  }
}
