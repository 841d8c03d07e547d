package dev.ebb.engine;

import dev.ebb.box.PastBox;
import dev.ebb.fault.Step;
import dev.ebb.store.RecordStore;
import java.util.Map;

/**
 * The records of boxes that end with their daemon, by number: written when a box was made and when
 * it has ended, read by the next daemon. A failed write is logged, and its record is missing after
 * a restart; nothing else fails. Thread-safe.
 */
public final class PastBoxes {
  /** The number of a box without a record. */
  public static final int NONE = NumberedRecords.NONE;

  private final NumberedRecords<PastBox> records;

  /** Uses the journal of a record store. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public PastBoxes(RecordStore store) {
    records =
        new NumberedRecords<>(store.history(), PastBox::parse, Step.READ_HISTORY, Step.FORGET_BOX);
  }

  /**
   * Opens the history; call it once, before any other method.
   *
   * @return the records of earlier daemons, by number; a box without an end ended with its daemon
   */
  public Map<Integer, PastBox> open() {
    return records.open();
  }

  /** Records that a box was made; returns {@link #NONE} on failure. */
  public int begin(PastBox box) {
    return records.begin(box.id(), box.entry(), Step.RECORD_BOX);
  }

  /** Records that a box has ended; returns the number of its record, like {@link #begin}. */
  public int end(int begun, PastBox box) {
    return records.end(begun, box.id(), box.entry(), Step.RECORD_BOX_END);
  }

  /** Removes a record; no-op for {@link #NONE}. */
  public void forget(int number) {
    records.forget(number);
  }
}
