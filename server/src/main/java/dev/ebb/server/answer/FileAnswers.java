package dev.ebb.server.answer;

import dev.ebb.exec.FileListing;
import dev.ebb.model.FileEntry;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import java.util.Locale;

/** The answers about files. */
public final class FileAnswers {
  private FileAnswers() {}

  public static final ObjectSchema<FileEntry> ENTRY =
      ObjectSchema.<FileEntry>named("Entry")
          .has("name", Values.TEXT, FileEntry::name)
          .has("type", Values.words(FileEntry.Type.values(), FileAnswers::name), FileEntry::type)
          .has("sizeBytes", Values.COUNT, FileEntry::size)
          .has("mode", Values.TEXT, entry -> Integer.toOctalString(entry.mode()))
          .has("modifiedAt", Values.TIME, FileEntry::modified)
          .may("target", Values.TEXT.described("where a link leads"), FileEntry::target);

  private static String name(FileEntry.Type type) {
    return type.name().toLowerCase(Locale.ROOT);
  }

  /** Each entry is made right before it is sent. */
  public static final ObjectSchema<FileListing> ENTRIES =
      ObjectSchema.<FileListing>named("Entries")
          .has("entries", Values.list(ENTRY), listing -> listing);
}
