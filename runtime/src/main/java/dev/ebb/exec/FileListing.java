package dev.ebb.exec;

import dev.ebb.model.BoxText;
import dev.ebb.model.FileEntry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * A stream of the entries of a directory, by name. There may be any number; only one is in memory
 * at a time. Can be iterated once. Not thread-safe; the caller closes it.
 */
public final class FileListing implements Iterable<FileEntry>, AutoCloseable {
  /** SAFETY: the longest accepted field; no name or target is longer, whatever the box sends. */
  private static final int FIELD_MOST = 16 * 1024;

  private final FileContent content;
  private final byte[] field = new byte[FIELD_MOST];

  FileListing(FileContent content) {
    this.content = content;
  }

  @Override
  public Iterator<FileEntry> iterator() {
    return new Iterator<>() {
      private @Nullable FileEntry next = read();

      @Override
      public boolean hasNext() {
        return next != null;
      }

      @Override
      public FileEntry next() {
        FileEntry current = next;
        if (current == null) {
          throw new NoSuchElementException();
        }
        next = read();
        return current;
      }
    };
  }

  /** Returns the first entries, and skips the others. */
  public List<FileEntry> first(int most) {
    var first = new ArrayList<FileEntry>();
    for (FileEntry each : this) {
      if (first.size() == most) {
        break;
      }
      first.add(each);
    }
    return first;
  }

  private @Nullable FileEntry read() {
    var fields = new String[FileEntry.FIELDS];
    for (int i = 0; i < fields.length; i++) {
      String text = readField();
      if (text == null) {
        if (i > 0) {
          throw new IllegalArgumentException("an entry of " + i + " fields");
        }
        return null;
      }
      fields[i] = text;
    }
    return FileEntry.of(fields);
  }

  private @Nullable String readField() {
    try {
      int length = 0;
      for (int b = content.read(); b != 0; b = content.read()) {
        if (b < 0 && length == 0) {
          return null;
        }
        if (b < 0 || length == FIELD_MOST) {
          throw new IllegalArgumentException("a field without an end");
        }
        field[length++] = (byte) b;
      }
      return BoxText.decode(field, 0, length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    content.close();
  }
}
