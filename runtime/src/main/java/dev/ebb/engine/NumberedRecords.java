package dev.ebb.engine;

import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxId;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Records of boxes in a journal, by number; a later record of a number replaces an earlier one. A
 * failed write is logged, and its record is missing after a restart; nothing else fails.
 * Thread-safe.
 */
final class NumberedRecords<T> {
  /** The number of a box without a record. */
  static final int NONE = 0;

  private static final Logger LOG = System.getLogger(NumberedRecords.class.getName());

  private final Journal journal;
  private final Parser<T> parser;
  private final Step reading;
  private final Step forgetting;
  private final AtomicInteger last = new AtomicInteger();

  /** Whether the journal can be used: an unreadable one is left unchanged. */
  private volatile boolean isOpen;

  /** Parses an entry; empty if it is about something else. */
  interface Parser<T> {
    Optional<T> parse(JournalEntry entry) throws IOException;
  }

  /**
   * Uses a journal.
   *
   * @param reading reached before it is read
   * @param forgetting reached before a record is removed
   */
  NumberedRecords(Journal journal, Parser<T> parser, Step reading, Step forgetting) {
    this.journal = journal;
    this.parser = parser;
    this.reading = reading;
    this.forgetting = forgetting;
  }

  /** Opens the journal and returns its records by number; call it once, before any other method. */
  Map<Integer, T> open() {
    var records = new LinkedHashMap<Integer, T>();
    try {
      reading.reach();
      Journal.Contents contents = journal.contents();
      last.set(contents.highest());
      isOpen = true;
      for (JournalEntry entry : contents.entries()) {
        add(entry, records);
      }
    } catch (KernelException | IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=history_not_read left_alone=true", e);
    }
    return records;
  }

  private void add(JournalEntry entry, Map<Integer, T> records) {
    try {
      var record = parser.parse(entry);
      if (record.isPresent()) {
        records.put(entry.integer(Journal.NUMBER), record.get());
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=history_entry_skipped about=" + entry.about(), e);
    }
  }

  /** Adds the first record of a box; returns its number, or {@link #NONE} on failure. */
  int begin(BoxId box, Optional<JournalEntry> entry, Step step) {
    int number = last.incrementAndGet();
    return append(number, box, entry, step) ? number : NONE;
  }

  /** Adds the last record of a box; returns its number, like {@link #begin}. */
  int end(int begun, BoxId box, Optional<JournalEntry> entry, Step step) {
    int number = begun == NONE ? last.incrementAndGet() : begun;
    return append(number, box, entry, step) || begun != NONE ? number : NONE;
  }

  private boolean append(int number, BoxId box, Optional<JournalEntry> entry, Step step) {
    if (!isOpen) {
      return false;
    }
    try {
      if (entry.isEmpty()) {
        LOG.log(Level.WARNING, "event=record_failed box={0} reason=\"it is too long\"", box);
        return false;
      }
      step.reach();
      journal.append(entry.get().with(Journal.NUMBER, number));
      return true;
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + box, e);
      return false;
    }
  }

  /** Removes a record; no-op for {@link #NONE}. */
  void forget(int number) {
    if (!isOpen || number == NONE) {
      return;
    }
    try {
      forgetting.reach();
      journal.forget(number);
    } catch (KernelException | IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=record_not_forgotten number=" + number, e);
    }
  }
}
