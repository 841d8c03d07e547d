package dev.ebb.engine;

import dev.ebb.box.PastBox;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.store.Journal;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.RecordStore;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The records of boxes that end with their daemon, by number: written when a box was made and when
 * it has ended, read by the next daemon. A failed write is logged, and its record is missing after
 * a restart; nothing else fails. Thread-safe.
 */
public final class PastBoxes {
  /** The number of a box without a record. */
  public static final int NONE = 0;

  private static final Logger LOG = System.getLogger(PastBoxes.class.getName());

  private final Journal journal;
  private final AtomicInteger last = new AtomicInteger();

  /** Whether the journal can be used: an unreadable one is left unchanged. */
  private volatile boolean isOpen;

  /** Uses the journal of a record store. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public PastBoxes(RecordStore records) {
    journal = records.history();
  }

  /**
   * Opens the history; call it once, before any other method.
   *
   * @return the records of earlier daemons, by number; a box without an end ended with its daemon
   */
  public Map<Integer, PastBox> open() {
    var boxes = new LinkedHashMap<Integer, PastBox>();
    try {
      Step.READ_HISTORY.reach();
      Journal.Contents contents = journal.contents();
      last.set(contents.highest());
      isOpen = true;
      for (JournalEntry entry : contents.entries()) {
        add(entry, boxes);
      }
    } catch (KernelException | IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=history_not_read left_alone=true", e);
    }
    return boxes;
  }

  /** An end replaces what was written when the box was made. */
  private static void add(JournalEntry entry, Map<Integer, PastBox> boxes) {
    try {
      var box = PastBox.parse(entry);
      if (box.isPresent()) {
        boxes.put(entry.integer(Journal.NUMBER), box.get());
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=history_entry_skipped about=" + entry.about(), e);
    }
  }

  /** Records that a box was made; returns {@link #NONE} on failure. */
  public int begin(PastBox box) {
    int number = last.incrementAndGet();
    return append(box, number, Step.RECORD_BOX) ? number : NONE;
  }

  /** Records that a box has ended; returns the number of its record, like {@link #begin}. */
  public int end(int begun, PastBox box) {
    int number = begun == NONE ? last.incrementAndGet() : begun;
    return append(box, number, Step.RECORD_BOX_END) || begun != NONE ? number : NONE;
  }

  private boolean append(PastBox box, int number, Step step) {
    if (!isOpen) {
      return false;
    }
    try {
      var entry = box.entry();
      if (entry.isEmpty()) {
        LOG.log(Level.WARNING, "event=record_failed box={0} reason=\"it is too long\"", box.id());
        return false;
      }
      step.reach();
      journal.append(entry.get().with(Journal.NUMBER, number));
      return true;
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + box.id(), e);
      return false;
    }
  }

  /** Removes a record; no-op for {@link #NONE}. */
  public void forget(int number) {
    if (!isOpen || number == NONE) {
      return;
    }
    try {
      Step.FORGET_BOX.reach();
      journal.forget(number);
    } catch (KernelException | IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=record_not_forgotten number=" + number, e);
    }
  }
}
