package dev.ebb.acceptance;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A tar with whatever is wanted in it, also what no tar would write. */
final class Tar {
  static final char FILE = '0';
  static final char HARD_LINK = '1';
  static final char LINK = '2';
  static final char CHARACTER_DEVICE = '3';
  static final char BLOCK_DEVICE = '4';
  static final char DIRECTORY = '5';
  static final char PIPE = '6';
  private static final int BLOCK = 512;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  static Tar of(char type, String name, String link, int mode, byte[] content) {
    return new Tar().with(type, name, link, mode, content);
  }

  Tar with(char type, String name, String link, int mode, byte[] content) {
    byte[] header = new byte[BLOCK];
    put(header, 0, name);
    put(header, 100, "%07o".formatted(mode));
    put(header, 108, "0000000");
    put(header, 116, "0000000");
    put(header, 124, "%011o".formatted(content.length));
    put(header, 136, "00000000000");
    Arrays.fill(header, 148, 156, (byte) ' ');
    header[156] = (byte) type;
    put(header, 157, link);
    put(header, 257, "ustar");
    put(header, 263, "00");
    put(header, 329, "0000001");
    put(header, 337, "0000003");
    int sum = 0;
    for (byte b : header) {
      sum += b & 0xff;
    }
    put(header, 148, "%06o\0".formatted(sum));
    bytes.writeBytes(header);
    bytes.writeBytes(content);
    bytes.writeBytes(new byte[(BLOCK - content.length % BLOCK) % BLOCK]);
    return this;
  }

  private static void put(byte[] header, int at, String text) {
    byte[] word = text.getBytes(StandardCharsets.ISO_8859_1);
    System.arraycopy(word, 0, header, at, word.length);
  }

  InputStream content() {
    bytes.writeBytes(new byte[2 * BLOCK]);
    return new ByteArrayInputStream(bytes.toByteArray());
  }
}
