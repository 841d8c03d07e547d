package dev.ebb.ledger;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * One line of the file: {@code <crc32c> + <number> <box> <kind> <subject>} or {@code <crc32c> -
 * <number>}.
 */
sealed interface LedgerLine {
  record Held(Holding holding) implements LedgerLine {}

  record Struck(long number) implements LedgerLine {}

  /** Cut short or damaged. */
  record Torn() implements LedgerLine {}

  static String hold(Holding holding) {
    return seal(
        "+ %d %s %s %s"
            .formatted(
                holding.number(),
                escape(holding.box()),
                holding.kind(),
                escape(holding.subject())));
  }

  static String strike(long number) {
    return seal("- " + number);
  }

  static LedgerLine parse(String line) {
    if (line.length() < 10 || !seal(line.substring(9)).equals(line + "\n")) {
      return new Torn();
    }
    String[] words = line.substring(9).split(" ", -1);
    long number = Long.parseLong(words[1]);
    return words[0].equals("-")
        ? new Struck(number)
        : new Held(
            new Holding(number, unescape(words[2]), Kind.valueOf(words[3]), unescape(words[4])));
  }

  private static String seal(String text) {
    var crc = new CRC32C();
    crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
    return "%08x %s\n".formatted(crc.getValue(), text);
  }

  private static String escape(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private static String unescape(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
