package dev.ebb.code;

import dev.ebb.model.Language;
import java.util.Locale;
import java.util.Optional;

/**
 * The result of running code.
 *
 * @param <E> the type that the caller of the run uses for a command
 * @param phase the last phase that it reached
 * @param outcome {@code ok}, {@code failed}, {@code compile-error}, or how else its command ended
 * @param exec the command that ended last
 * @param written empty: it never ran
 */
public record CodeResult<E>(
    Language language, Phase phase, String outcome, E exec, Optional<Written> written) {
  /** The phases of a run. */
  public enum Phase {
    COMPILE,
    RUN;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
