package dev.ebb.store;

import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/** A list of entries that are added and never changed. Thread-safe. */
public interface Journal {
  /** The field that selects the entries to forget. */
  String NUMBER = "number";

  /** Adds an entry, whole or not at all. */
  void append(JournalEntry entry) throws KernelException;

  /** Drops all entries with this {@code number} that exist now. */
  void forget(int number) throws KernelException, IOException;

  /** Returns its content; an absent journal is empty. */
  Contents contents() throws IOException;

  /** Returns its entries; an absent journal has none. */
  default List<JournalEntry> read() throws IOException {
    return contents().entries();
  }

  /** Returns the first entry about {@code about}. */
  default Optional<JournalEntry> find(String about) throws IOException {
    return read().stream().filter(entry -> entry.about().equals(about)).findFirst();
  }

  /**
   * The content of a journal.
   *
   * @param entries the intact entries in order, without forgotten ones
   * @param highest the highest number ever used, including forgotten ones; 0 if none
   */
  record Contents(List<JournalEntry> entries, int highest) {
    private static final String FORGOTTEN = "forgotten";

    public Contents {
      entries = List.copyOf(entries);
    }

    static JournalEntry forgotten(int number) {
      return JournalEntry.about(FORGOTTEN).with(NUMBER, number);
    }

    /** Makes the content from all entries in the order of their addition. */
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
