package dev.ebb.ledger;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A line that tells whether it is whole: {@code <crc32c> <text>}. One torn by a crash was never
 * acted upon.
 */
public final class SealedLine {
  private static final int SEAL = 9;

  private SealedLine() {}

  /** The line with its end; {@code text} is ASCII and has none. */
  public static String seal(String text) {
    var crc = new CRC32C();
    crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
    return "%08x %s\n".formatted(crc.getValue(), text);
  }

  /** What was sealed; empty when the line is cut short or damaged. */
  public static Optional<String> open(String line) {
    return Optional.of(line)
        .filter(whole -> whole.length() > SEAL)
        .map(whole -> whole.substring(SEAL))
        .filter(text -> seal(text).equals(line + "\n"));
  }

  /** Any text as one word of a line. */
  public static String escape(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  public static String unescape(String word) {
    return URLDecoder.decode(word, StandardCharsets.UTF_8);
  }
}
