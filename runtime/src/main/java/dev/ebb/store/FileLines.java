package dev.ebb.store;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
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
 * Lines in a file of the home that only its owner can read. Any process changes them under a lock,
 * whole or not at all.
 */
final class FileLines implements OwnerLines {
  private final Path file;

  FileLines(Path file) {
    this.file = file;
  }

  @Override
  public List<String> lines() throws IOException {
    try {
      // Damaged text is decoded byte by byte; lines are written as UTF-8.
      byte[] bytes = Files.readAllBytes(file);
      return decode(bytes).lines().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private static String decode(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return new String(bytes, StandardCharsets.ISO_8859_1);
    }
  }

  @Override
  public String version() throws IOException {
    // Called with every request, so an absent file must not cost an exception.
    if (!file.toFile().exists()) {
      return "";
    }
    try {
      var attributes = Files.readAttributes(file, BasicFileAttributes.class);
      return attributes.fileKey() + " " + attributes.lastModifiedTime() + " " + attributes.size();
    } catch (NoSuchFileException e) {
      return "";
    }
  }

  @Override
  public <T> T change(Function<List<String>, T> change) throws KernelException, IOException {
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
    }
  }

  @Override
  public String place() {
    return file.toString();
  }
}
