package dev.ebb.ledger;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A line with a check of its integrity: {@code <crc32c> <text>}. One torn by a crash was never
 * acted upon.
 */
public final class SealedLine {
  private static final int SEAL = 9;

  private SealedLine() {}

  /** The line with its end; {@code text} is ASCII and has none. */
  public static String seal(String text) {
    return checksum(text) + text + "\n";
  }

  private static String checksum(String text) {
    var crc = new CRC32C();
    crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
    return HexFormat.of().toHexDigits(crc.getValue(), SEAL - 1) + " ";
  }

  /** Returns the sealed text; empty when the line is cut short or damaged. */
  public static Optional<String> open(String line) {
    if (line.length() <= SEAL) {
      return Optional.empty();
    }
    String text = line.substring(SEAL);
    return line.startsWith(checksum(text)) ? Optional.of(text) : Optional.empty();
  }

  /** Any text as one word of a line; what is in most of them, paths above all, stays as it is. */
  public static String escape(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("%2F", "/");
  }

  public static String unescape(String word) {
    return word.indexOf('%') < 0 && word.indexOf('+') < 0
        ? word
        : URLDecoder.decode(word, StandardCharsets.UTF_8);
  }
}
