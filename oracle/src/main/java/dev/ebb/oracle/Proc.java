package dev.ebb.oracle;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Reads from file systems whose entries vanish under the reader: the vanished are just absent. */
public final class Proc {
  public static final Path ROOT = Path.of("/proc");
  public static final Path SELF = ROOT.resolve("self");

  private Proc() {}

  public static Optional<String> read(Path file) throws IOException {
    try {
      return Optional.of(Files.readString(file, StandardCharsets.ISO_8859_1));
    } catch (IOException e) {
      if (isGone(e)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  public static List<String> lines(Path file) throws IOException {
    return read(file).stream().flatMap(String::lines).toList();
  }

  /** The target of a link; none if it is gone, or not ours to read. */
  public static Optional<String> readLink(Path link) throws IOException {
    try {
      return Optional.of(Files.readSymbolicLink(link).toString());
    } catch (AccessDeniedException e) {
      return Optional.empty();
    } catch (IOException e) {
      if (isGone(e)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** The entries of a directory; none if it is gone, or not ours to read. */
  public static List<Path> list(Path directory) throws IOException {
    var entries = new ArrayList<Path>();
    try (var stream = Files.newDirectoryStream(directory)) {
      stream.forEach(entries::add);
    } catch (DirectoryIteratorException e) {
      IOException cause = Objects.requireNonNull(e.getCause());
      if (!isGone(cause)) {
        throw cause;
      }
    } catch (AccessDeniedException e) {
      return List.of();
    } catch (IOException e) {
      if (!isGone(e)) {
        throw e;
      }
    }
    return entries;
  }

  /** The value behind {@code key} in lines of {@code key: value}. */
  public static Optional<String> field(List<String> lines, String key) {
    return lines.stream()
        .filter(line -> line.startsWith(key + ":"))
        .map(line -> line.substring(key.length() + 1).strip())
        .findFirst();
  }

  public static boolean isGone(IOException e) {
    // KERNEL: a file of a process or cgroup that ended after the open answers ESRCH or ENODEV, and
    // fdinfo of a descriptor that was closed after it ENOENT, at a read, for which the JDK has no
    // exception of their own.
    String message = String.valueOf(e.getMessage());
    return e instanceof NoSuchFileException
        || e instanceof NotDirectoryException
        || message.contains("No such process")
        || message.equals("No such file or directory")
        || message.contains("No such device");
  }
}
