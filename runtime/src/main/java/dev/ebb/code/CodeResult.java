package dev.ebb.code;

import dev.ebb.model.Language;
import java.util.Locale;
import java.util.Optional;

/**
 * What became of code.
 *
 * @param <E> a command, as the caller of the run knows it
 * @param phase that it came to
 * @param outcome {@code ok}, {@code failed}, {@code compile-error}, or how else its command ended
 * @param exec the command that ended last
 * @param written empty: it never ran
 */
public record CodeResult<E>(
    Language language, Phase phase, String outcome, E exec, Optional<Written> written) {
  /** What code goes through. */
  public enum Phase {
    COMPILE,
    RUN;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
