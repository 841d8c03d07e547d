package dev.ebb.cli.files;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Packs a directory: POSIX pax, so that no name and no size is too long. */
final class TarWriter {
  private static final int NAME_BYTES = 100;
  private static final long MAX_OCTAL_SIZE = 077777777777L;
  private static final int CHUNK = 64 * 1024;

  private final OutputStream out;

  TarWriter(OutputStream out) {
    this.out = out;
  }

  /** Octal permission bits, as chmod takes them. */
  static String mode(Path path) throws IOException {
    return Integer.toOctalString(bits(path));
  }

  private static int bits(Path path) throws IOException {
    Object mode = Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    return (Integer) mode & 0777;
  }

  /** Writes the content of the directory, without sockets, pipes and devices. */
  void write(Path directory) throws IOException {
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes)
              throws IOException {
            if (!path.equals(directory)) {
              add(directory.relativize(path), path, attributes);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes)
              throws IOException {
            add(directory.relativize(path), path, attributes);
            return FileVisitResult.CONTINUE;
          }
        });
    out.write(new byte[2 * TarEntry.BLOCK]);
    out.flush();
  }

  private void add(Path name, Path path, BasicFileAttributes attributes) throws IOException {
    long seconds = attributes.lastModifiedTime().toInstant().getEpochSecond();
    if (attributes.isDirectory()) {
      header(new TarEntry(name + "/", TarEntry.DIRECTORY, bits(path), 0, seconds, ""));
    } else if (attributes.isSymbolicLink()) {
      String target = Files.readSymbolicLink(path).toString();
      header(new TarEntry(name.toString(), TarEntry.SYMBOLIC_LINK, 0777, 0, seconds, target));
    } else if (attributes.isRegularFile()) {
      long size = attributes.size();
      header(new TarEntry(name.toString(), TarEntry.FILE, bits(path), size, seconds, ""));
      content(path, size);
    }
  }

  /** Copies exactly as many bytes as the header states, even if the file changes meanwhile. */
  private void content(Path path, long size) throws IOException {
    byte[] chunk = new byte[CHUNK];
    try (InputStream in = Files.newInputStream(path)) {
      for (long left = size; left > 0; ) {
        int n = in.read(chunk, 0, (int) Math.min(chunk.length, left));
        if (n < 0) {
          throw new EOFException(path + " became shorter while it was read");
        }
        out.write(chunk, 0, n);
        left -= n;
      }
    }
    out.write(new byte[TarEntry.padding(size)]);
  }

  void header(TarEntry entry) throws IOException {
    var extended = extended(entry);
    if (extended.size() > 0) {
      var pax = new TarEntry("pax", 'x', 0644, extended.size(), entry.modifiedSeconds(), "");
      out.write(block(pax));
      extended.writeTo(out);
      out.write(new byte[TarEntry.padding(extended.size())]);
    }
    out.write(block(entry));
  }

  /** The records of what does not fit into the header block. */
  private static ByteArrayOutputStream extended(TarEntry entry) {
    byte[] name = entry.name().getBytes(StandardCharsets.UTF_8);
    byte[] link = entry.link().getBytes(StandardCharsets.UTF_8);
    var extended = new ByteArrayOutputStream();
    if (name.length > NAME_BYTES) {
      extended.writeBytes(record("path", entry.name()));
    }
    if (link.length > NAME_BYTES) {
      extended.writeBytes(record("linkpath", entry.link()));
    }
    if (entry.size() > MAX_OCTAL_SIZE) {
      extended.writeBytes(record("size", Long.toString(entry.size())));
    }
    return extended;
  }

  /** "LENGTH KEY=VALUE\n", where the length counts itself. */
  private static byte[] record(String key, String value) {
    String rest = " " + key + "=" + value + "\n";
    int bytes = rest.getBytes(StandardCharsets.UTF_8).length;
    int length = bytes + Integer.toString(bytes).length();
    if (Integer.toString(length).length() > Integer.toString(bytes).length()) {
      length++;
    }
    return (length + rest).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] block(TarEntry entry) {
    byte[] block = new byte[TarEntry.BLOCK];
    put(block, 0, NAME_BYTES, entry.name());
    octal(block, 100, 8, entry.mode());
    octal(block, 108, 8, 0);
    octal(block, 116, 8, 0);
    octal(block, 124, 12, Math.min(entry.size(), MAX_OCTAL_SIZE));
    octal(block, 136, 12, Math.clamp(entry.modifiedSeconds(), 0, MAX_OCTAL_SIZE));
    block[156] = (byte) entry.type();
    put(block, 157, NAME_BYTES, entry.link());
    put(block, 257, 6, "ustar");
    put(block, 263, 2, "00");
    put(block, 148, 8, "        ");
    octal(block, 148, 7, sum(block));
    return block;
  }

  private static int sum(byte[] block) {
    int sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    return sum;
  }

  private static void put(byte[] block, int offset, int length, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    System.arraycopy(bytes, 0, block, offset, Math.min(bytes.length, length));
  }

  /** Digits up to the last byte, which is zero. */
  private static void octal(byte[] block, int offset, int length, long number) {
    String digits = Long.toOctalString(number);
    put(block, offset, length, "0".repeat(length - 1 - digits.length()) + digits);
    block[offset + length - 1] = 0;
  }
}
