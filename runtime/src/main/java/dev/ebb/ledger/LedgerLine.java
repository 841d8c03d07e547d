package dev.ebb.ledger;

import static dev.ebb.ledger.SealedLine.escape;
import static dev.ebb.ledger.SealedLine.seal;
import static dev.ebb.ledger.SealedLine.unescape;

import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.util.Optional;

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
        "+ "
            + holding.number()
            + " "
            + escape(holding.box())
            + " "
            + holding.kind()
            + " "
            + escape(holding.subject()));
  }

  static String strike(long number) {
    return seal("- " + number);
  }

  static LedgerLine parse(String line) {
    Optional<String> text = SealedLine.open(line);
    if (text.isEmpty()) {
      return new Torn();
    }
    String[] words = text.get().split(" ", -1);
    return switch (words[0]) {
      case "-" -> new Struck(Long.parseLong(words[1]));
      case "+" ->
          new Held(
              new Holding(
                  Long.parseLong(words[1]),
                  unescape(words[2]),
                  kind(words[3]),
                  unescape(words[4])));
      default -> throw new IllegalStateException(newer("a line \"" + words[0] + "\""));
    };
  }

  private static String newer(String what) {
    return "its ledger lists " + what + ", of a newer Ebb: use that one";
  }

  /** SAFETY: what we cannot name we cannot release, so nothing of it is. */
  private static Kind kind(String word) {
    try {
      return Kind.valueOf(word);
    } catch (IllegalArgumentException e) {
      throw new IllegalStateException(newer("a " + word), e);
    }
  }
}
