package dev.ebb.server.service;

import dev.ebb.model.Language;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What became of code.
 *
 * @param phase that it came to
 * @param outcome {@code ok}, {@code failed}, {@code compile-error}, or how else its command ended
 * @param exec the command that ended last
 * @param written empty: it never ran
 */
public record CodeResult(
    Language language, Phase phase, String outcome, TenantExec exec, Optional<Written> written) {
  /** What code goes through. */
  public enum Phase {
    COMPILE,
    RUN;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The files that are new or not as they were.
   *
   * @param isCut there may be more
   * @param lost why they are not known: their box did not live so long
   */
  public record Written(List<File> files, boolean isCut, Optional<String> lost) {
    public Written {
      files = List.copyOf(files);
    }

    static Written lost(String reason) {
      return new Written(List.of(), false, Optional.of(reason));
    }
  }

  /**
   * A file below the working directory.
   *
   * @param type by its name
   */
  public record File(String path, long size, String type, Content content) {}

  /** The content of a file, if it was asked for. */
  public sealed interface Content {
    record NotWanted() implements Content {}

    @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
    record Whole(byte[] bytes) implements Content {}

    /** It is too long, or cannot be read. */
    record Missing(String reason) implements Content {}
  }
}
