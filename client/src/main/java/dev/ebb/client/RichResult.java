package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of code that an interpreter ran.
 *
 * @param cell how it ended, what it wrote, its value, and what it showed
 * @param files that are new or changed
 * @param certificate of the box, if the box was made for this code and is released
 */
public record RichResult(
    CellResult cell, List<CodeResult.File> files, @Nullable Certificate certificate) {
  public RichResult {
    files = Collections.unmodifiableList(new ArrayList<>(files));
  }

  static RichResult read(JsonObject document) throws JsonException {
    return new RichResult(
        CellResult.read(document),
        CodeResult.files(document),
        Documents.orNull(document.objectOrNull("certificate"), Certificate::read));
  }

  /** Makes a result from the last event of code that was followed. */
  public static RichResult of(CellResult last) throws JsonException {
    return read(last.document());
  }

  public String outcome() {
    return cell.outcome();
  }
}
