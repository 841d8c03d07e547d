package dev.ebb.code;

import java.util.List;
import java.util.Optional;

/**
 * The files below the working directory that are new or changed.
 *
 * @param isCut whether there may be more
 * @param lost why they are unknown: their box ended before
 */
public record Written(List<File> files, boolean isCut, Optional<String> lost) {
  public Written {
    files = List.copyOf(files);
  }

  static Written lost(String reason) {
    return new Written(List.of(), false, Optional.of(reason));
  }

  /**
   * One file.
   *
   * @param type by its name
   */
  public record File(String path, long size, String type, Content content) {}

  /** The content of a file, if it was requested. */
  public sealed interface Content {
    record NotWanted() implements Content {}

    @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
    record Whole(byte[] bytes) implements Content {}

    /** It is too long, or cannot be read. */
    record Missing(String reason) implements Content {}
  }
}
