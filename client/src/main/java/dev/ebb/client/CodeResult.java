package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of running code.
 *
 * @param outcome how it ended: {@code ok}, {@code failed} (its exit code is not 0), {@code
 *     compile-error}, {@code timed-out}, {@code out-of-memory}, {@code killed}, …
 * @param phase {@code compile} or {@code run}
 * @param result the command that ended last, and the first MiB of each of its streams
 * @param files that are new or changed
 * @param document as the daemon sent it
 */
public record CodeResult(
    String outcome, String phase, Result result, List<File> files, JsonObject document) {
  public CodeResult {
    files = Collections.unmodifiableList(new ArrayList<>(files));
  }

  /**
   * A file that the code wrote.
   *
   * @param path below its working directory
   * @param content if it was requested and could be read
   * @param missing why it could not be read
   */
  public record File(
      String path,
      long sizeBytes,
      String type,
      @Nullable Output content,
      @Nullable String missing) {
    private static File read(JsonObject document) throws JsonException {
      return new File(
          document.string("path"),
          document.number("sizeBytes"),
          document.string("type"),
          Documents.orNull(document.objectOrNull("content"), Output::read),
          document.stringOrNull("missing"));
    }
  }

  static CodeResult read(JsonObject document) throws JsonException {
    return new CodeResult(
        document.string("outcome"),
        document.string("phase"),
        Result.read(document),
        files(document),
        document);
  }

  static List<File> files(JsonObject document) throws JsonException {
    return document.has("files")
        ? Documents.list(document.objects("files"), File::read)
        : Collections.emptyList();
  }

  /** Makes a result from the last event of code that was followed. */
  public static CodeResult of(Result last) throws JsonException {
    return read(last.exec().document());
  }

  public Output stdout() {
    return result.stdout();
  }

  public Output stderr() {
    return result.stderr();
  }

  public @Nullable Integer exitCode() {
    return result.exec().exitCode();
  }

  public @Nullable Certificate certificate() {
    return result.certificate();
  }
}
