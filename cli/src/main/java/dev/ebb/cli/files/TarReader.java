package dev.ebb.cli.files;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads ustar, pax and GNU tar. What it reads comes out of a box: nothing in it is trusted. */
final class TarReader {
  private static final int MAX_EXTENDED = 64 * 1024;
  private static final Set<String> KNOWN = Set.of("path", "linkpath", "size");

  private final InputStream in;
  private long left;
  private int padding;

  TarReader(InputStream in) {
    this.in = in;
  }

  /** The next member, whose content can then be read; none at the end. */
  Optional<TarEntry> next() throws IOException {
    var extended = new HashMap<String, String>();
    while (true) {
      skip();
      byte[] block = in.readNBytes(TarEntry.BLOCK);
      if (block.length == 0 || isZero(block)) {
        return Optional.empty();
      }
      if (block.length < TarEntry.BLOCK) {
        throw new EOFException("the tar is truncated");
      }
      requireSum(block);
      long size = number(block, 124, 12);
      switch (block[156]) {
        case 'x' -> records(text(size), extended);
        case 'g' -> content(size);
        case 'L' -> extended.put("path", zeroTerminated(text(size)));
        case 'K' -> extended.put("linkpath", zeroTerminated(text(size)));
        default -> {
          return Optional.of(entry(block, size, extended));
        }
      }
    }
  }

  private TarEntry entry(byte[] block, long size, Map<String, String> extended) throws IOException {
    char type = block[156] == 0 ? TarEntry.FILE : (char) block[156];
    long real = extended.containsKey("size") ? parse(extended.get("size")) : size;
    content(type == TarEntry.FILE || type > TarEntry.DIRECTORY ? real : 0);
    String prefix = string(block, 257, 6).startsWith("ustar\0") ? string(block, 345, 155) : "";
    String plain = string(block, 0, 100);
    String name = prefix.isEmpty() ? plain : prefix + "/" + plain;
    return new TarEntry(
        extended.getOrDefault("path", name),
        type,
        (int) (number(block, 100, 8) & 0777),
        real,
        number(block, 136, 12),
        extended.getOrDefault("linkpath", string(block, 157, 100)));
  }

  private void content(long size) {
    left = size;
    padding = TarEntry.padding(size);
  }

  /** The content of the last member. */
  InputStream content() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] buffer, int offset, int length) throws IOException {
        if (left == 0) {
          return -1;
        }
        int n = in.read(buffer, offset, (int) Math.min(length, left));
        if (n < 0) {
          throw new EOFException("the tar is truncated");
        }
        left -= n;
        return n;
      }
    };
  }

  private void skip() throws IOException {
    try {
      in.skipNBytes(left + padding);
    } catch (EOFException e) {
      throw new EOFException("the tar is truncated");
    }
    content(0);
  }

  private String text(long size) throws IOException {
    if (size > MAX_EXTENDED) {
      throw new IOException("bad tar: a name of " + size + " bytes");
    }
    byte[] bytes = in.readNBytes((int) size);
    if (bytes.length < size) {
      throw new EOFException("the tar is truncated");
    }
    in.skipNBytes(TarEntry.padding(size));
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static String zeroTerminated(String text) {
    int end = text.indexOf('\0');
    return end < 0 ? text : text.substring(0, end);
  }

  /** Each "LENGTH KEY=VALUE\n". Values are cut at the newline: we write none that has one. */
  private static void records(String text, Map<String, String> extended) {
    for (String line : text.split("\n")) {
      int space = line.indexOf(' ');
      int equals = line.indexOf('=');
      String key = space > 0 && equals > space ? line.substring(space + 1, equals) : "";
      if (KNOWN.contains(key)) {
        extended.put(key, line.substring(equals + 1));
      }
    }
  }

  private static boolean isZero(byte[] block) {
    for (byte b : block) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  private static void requireSum(byte[] block) throws IOException {
    long sum = 0;
    for (int i = 0; i < block.length; i++) {
      sum += i >= 148 && i < 156 ? ' ' : block[i] & 0xff;
    }
    if (sum != number(block, 148, 8)) {
      throw new IOException("bad tar: a header with a wrong checksum");
    }
  }

  private static String string(byte[] block, int offset, int length) {
    String text = new String(block, offset, length, StandardCharsets.UTF_8);
    // Six bytes are the magic, which ends with its zero.
    return length == 6 ? text : zeroTerminated(text);
  }

  /** Octal, or GNU's binary form for what is too large for it. */
  private static long number(byte[] block, int offset, int length) throws IOException {
    if ((block[offset] & 0x80) == 0) {
      String digits = string(block, offset, length).strip();
      try {
        return digits.isEmpty() ? 0 : Long.parseLong(digits, 8);
      } catch (NumberFormatException e) {
        throw new IOException("bad tar: a header with a bad number", e);
      }
    }
    long number = block[offset] & 0x7f;
    for (int i = 1; i < length; i++) {
      number = (number << 8) | (block[offset + i] & 0xff);
    }
    return positive(number);
  }

  private static long parse(String digits) throws IOException {
    try {
      return positive(Long.parseLong(digits));
    } catch (NumberFormatException e) {
      throw new IOException("bad tar: a bad size", e);
    }
  }

  private static long positive(long number) throws IOException {
    if (number < 0) {
      throw new IOException("bad tar: a negative number");
    }
    return number;
  }
}
