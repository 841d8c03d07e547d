package dev.ebb.code;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.exec.BoxFiles;
import dev.ebb.model.FileEntry;
import dev.ebb.model.FirstFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A file to write to a box.
 *
 * @param path in the box; relative to its working directory
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record NewFile(String path, byte[] bytes) {
  /** The mode of a file if the request gives none. */
  public static final int DEFAULT_MODE = 0644;

  private static final String WORKSPACE = WorkspaceFiles.path("");

  /** The most that init may be asked to write in all, so that its share of memory suffices. */
  private static final int PLACED_MOST = 256 * 1024;

  /**
   * Writes files, as the user of the box.
   *
   * @return by their paths, the entries that are there then, if known
   */
  @CanIgnoreReturnValue
  public static Map<String, Optional<FileEntry>> write(BoxFiles into, List<NewFile> files)
      throws IOException, InterruptedException {
    var written = new LinkedHashMap<String, Optional<FileEntry>>();
    for (NewFile file : files) {
      written.put(file.path, file.write(into));
    }
    return written;
  }

  /** Returns its name, if it is in the working directory itself. */
  private String name() {
    return path.startsWith(WORKSPACE) ? path.substring(WORKSPACE.length()) : path;
  }

  private Optional<FileEntry> write(BoxFiles into) throws IOException, InterruptedException {
    return into.write(path, DEFAULT_MODE, new ByteArrayInputStream(bytes));
  }

  /**
   * Returns it as a file that a box can hold without a process, if it is in its working directory
   * itself.
   */
  public Optional<FirstFile> asFirst() {
    return FirstFile.isName(name())
        ? Optional.of(new FirstFile(name(), DEFAULT_MODE, bytes))
        : Optional.empty();
  }

  /**
   * Writes files to a box in which nothing has happened yet: a few short ones need no process, and
   * the first may be there already.
   *
   * @param placed the entry of the first file, if it is there already
   */
  static Map<String, Optional<FileEntry>> writeFirst(
      BoxFiles into, Optional<FileEntry> placed, List<NewFile> files)
      throws IOException, InterruptedException {
    var written = new LinkedHashMap<String, Optional<FileEntry>>();
    int left = PLACED_MOST;
    for (NewFile file : files) {
      Optional<FileEntry> entry = written.isEmpty() ? placed : Optional.empty();
      Optional<FirstFile> first = file.asFirst();
      if (entry.isEmpty() && first.isPresent() && file.bytes.length <= left) {
        entry = into.writeNew(first.get());
      }
      left -= entry.isPresent() ? file.bytes.length : 0;
      written.put(file.path, entry.isPresent() ? entry : file.write(into));
    }
    return written;
  }
}
