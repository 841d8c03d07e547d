package dev.ebb.server.boxes;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.FileEntry;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A file that a box is to hold.
 *
 * @param path in the box; relative to its working directory
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record NewFile(String path, byte[] bytes) {
  /** Of a file of which nobody says more. */
  public static final int DEFAULT_MODE = 0644;

  /**
   * Writes them, as the user of the box.
   *
   * @return by their paths, what is there then, if that is told
   */
  @CanIgnoreReturnValue
  public static Map<String, Optional<FileEntry>> write(ServedBox box, List<NewFile> files)
      throws IOException, InterruptedException {
    var into = new BoxFiles(box.box());
    var written = new LinkedHashMap<String, Optional<FileEntry>>();
    for (NewFile file : files) {
      var content = new ByteArrayInputStream(file.bytes);
      written.put(file.path, into.write(file.path, DEFAULT_MODE, content));
    }
    return written;
  }
}
