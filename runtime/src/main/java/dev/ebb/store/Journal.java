package dev.ebb.store;

import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/** Records as entries that are added and never changed. Thread-safe. */
public interface Journal {
  /** The field by which entries are forgotten. */
  String NUMBER = "number";

  /** Adds an entry, whole or not at all. */
  void append(JournalEntry entry) throws KernelException;

  /** Drops the entries with this {@code number} that were added so far. */
  void forget(int number) throws KernelException, IOException;

  /** All that it holds; an absent journal is empty. */
  Contents contents() throws IOException;

  /** Its entries; an absent journal has none. */
  default List<JournalEntry> read() throws IOException {
    return contents().entries();
  }

  /** The first entry about this. */
  default Optional<JournalEntry> find(String about) throws IOException {
    return read().stream().filter(entry -> entry.about().equals(about)).findFirst();
  }

  /**
   * What a journal holds.
   *
   * @param entries whole ones, in their order, but those that are forgotten
   * @param highest the highest number that was ever used, forgotten or not; 0: none
   */
  record Contents(List<JournalEntry> entries, int highest) {
    private static final String FORGOTTEN = "forgotten";

    public Contents {
      entries = List.copyOf(entries);
    }

    static JournalEntry forgotten(int number) {
      return JournalEntry.about(FORGOTTEN).with(NUMBER, number);
    }

    /** Of entries as they were added. */
    static Contents of(List<JournalEntry> added) throws IOException {
      var latestFirst = new ArrayList<JournalEntry>();
      var forgotten = new HashSet<Optional<String>>();
      int highest = 0;
      for (JournalEntry entry : added.reversed()) {
        Optional<String> number = entry.find(NUMBER);
        highest = number.isPresent() ? Math.max(highest, entry.integer(NUMBER)) : highest;
        if (entry.about().equals(FORGOTTEN)) {
          forgotten.add(number);
        } else if (!forgotten.contains(number)) {
          latestFirst.add(entry);
        }
      }
      return new Contents(latestFirst.reversed(), highest);
    }
  }
}
