package dev.ebb.engine;

import dev.ebb.box.PastRelease;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Certificate;
import dev.ebb.model.SandboxException;
import dev.ebb.store.RecordStore;
import java.util.Map;
import java.util.Optional;

/**
 * The records of releases, by number: written before a run is answered whose box is released later,
 * and when a box was released; read by the next daemon. A failed write is logged, and its record is
 * missing after a restart; nothing else fails. Thread-safe.
 */
public final class PastReleases {
  /** The number of a release without a record. */
  public static final int NONE = NumberedRecords.NONE;

  private final NumberedRecords<PastRelease> records;
  private final Map<String, Certificate> recovered;

  /**
   * Uses the journal of a record store.
   *
   * @param recovered the certificates of boxes that this engine released when it was opened, by id
   */
  @SuppressWarnings("exports") // seen by the daemon alone
  public PastReleases(RecordStore store, Map<String, Certificate> recovered) {
    this.recovered = Map.copyOf(recovered);
    records =
        new NumberedRecords<>(
            store.certificates(),
            PastRelease::parse,
            Step.READ_CERTIFICATES,
            Step.FORGET_CERTIFICATE);
  }

  /**
   * Opens the records; call it once, before any other method.
   *
   * @return the records of earlier daemons, by number, the oldest first
   */
  public Map<Integer, PastRelease> open() {
    return records.open();
  }

  /** Returns what was released of a box of a dead daemon; empty if nothing of it was left. */
  public Optional<Certificate> recovered(String box) {
    return Optional.ofNullable(recovered.get(box));
  }

  /** Records that a run is answered before its box is released; {@link #NONE} on failure. */
  public int begin(PastRelease release) {
    return records.begin(release.id(), Optional.of(release.entry()), Step.RECORD_ANSWER);
  }

  /** Called between the answer to a run and the release of its box. */
  public void answered() {
    try {
      Step.RELEASE_ANSWERED.reach();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Records that a box was released; returns the number of its record, like {@link #begin}. */
  public int end(int begun, PastRelease release) {
    return records.end(begun, release.id(), Optional.of(release.entry()), Step.RECORD_CERTIFICATE);
  }

  /** Removes a record; no-op for {@link #NONE}. */
  public void forget(int number) {
    records.forget(number);
  }
}
