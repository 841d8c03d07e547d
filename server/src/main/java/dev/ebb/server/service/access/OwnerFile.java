package dev.ebb.server.service.access;

import static java.util.Objects.requireNonNull;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.function.Predicate;

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
      // A character a byte where it is damaged; what we write is UTF-8.
      byte[] bytes = Files.readAllBytes(file);
      return decode(bytes).lines().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }

  private static String decode(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return new String(bytes, StandardCharsets.ISO_8859_1);
    }
  }

  /**
   * Refuses what is damaged, and says where.
   *
   * @param isWhole tells of a line
   */
  void check(Predicate<String> isWhole) {
    List<String> lines;
    try {
      lines = lines();
    } catch (UncheckedIOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, e.getMessage() + ": " + requireNonNull(e.getCause()).getMessage());
    }
    for (int i = 0; i < lines.size(); i++) {
      if (!lines.get(i).isBlank() && !isWhole.test(lines.get(i))) {
        throw new SandboxException(
            ErrorCode.HOST_UNFIT,
            "%s is damaged: line %d makes no sense; mend or remove it".formatted(file, i + 1));
      }
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
