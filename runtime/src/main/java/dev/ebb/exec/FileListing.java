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
 * What is in a directory, by name, as it is told: there may be any number of entries, and no more
 * than one is in our memory. Can be gone through once. Not thread-safe; to be closed.
 */
public final class FileListing implements Iterable<FileEntry>, AutoCloseable {
  /** SAFETY: of one field; a name or a target is no longer than this, whatever the box says. */
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
        FileEntry told = next;
        if (told == null) {
          throw new NoSuchElementException();
        }
        next = read();
        return told;
      }
    };
  }

  /** The first ones; the others are not kept. */
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
