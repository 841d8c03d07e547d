package dev.ebb.box;

import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The host uid of a box, and its ledger lines that are struck last.
 *
 * <p>Not thread-safe: the thread that makes the box writes it, then the lane under the lock of the
 * lifecycle, then the release, which follows the end of all starts.
 */
final class BoxHoldings {
  private static final int NO_UID = -1;

  private final BoxId id;
  private final Ledger ledger;
  private final HostUids uids;
  private final List<Holding> lines = new ArrayList<>();
  private int uid = NO_UID;

  BoxHoldings(BoxId id, BoxHost host) {
    this.id = id;
    ledger = host.instance().ledger();
    uids = host.uids();
  }

  // --- the uid ---

  /** The host uid of every process of the box; negative: none. */
  int uid() {
    return uid;
  }

  boolean hasUid() {
    return uid != NO_UID;
  }

  /** Whether the boxes of this engine share one uid, which no ledger line names. */
  boolean isUidShared() {
    return uids.isShared();
  }

  void lendUid() {
    uid = uids.lend();
  }

  /** Sets the uid that another engine had recorded for a box that shares it. */
  void shareUid(int recorded) {
    uid = recorded;
  }

  // --- the lines ---

  Holding hold(Kind kind, String subject) throws KernelException {
    Holding line = ledger.hold(id.value(), kind, subject);
    lines.add(line);
    return line;
  }

  /** Writes all entries at once. Returns the line of {@code apart}, which belongs to the caller. */
  Holding hold(Ledger.Entry apart, List<Ledger.Entry> entries) throws KernelException {
    var all = new ArrayList<>(entries);
    all.addFirst(apart);
    var held = new ArrayList<>(ledger.hold(id.value(), all));
    Holding line = held.removeFirst();
    lines.addAll(held);
    return line;
  }

  void hold(List<Ledger.Entry> entries) throws KernelException {
    lines.addAll(ledger.hold(id.value(), entries));
  }

  /** Takes over a line that another engine wrote. */
  void takeOver(Holding line) {
    lines.add(line);
    if (line.kind() == Kind.USER) {
      uid = Integer.parseInt(line.subject());
      uids.take(uid);
    }
  }

  void strike(Collection<Holding> gone) throws KernelException {
    ledger.strike(gone);
    lines.removeAll(gone);
  }

  void strikeAll() throws KernelException {
    ledger.strike(lines);
  }

  /** Returns the uid to the block, once nothing of the box remains. */
  void giveUidBack() {
    uids.giveBack(uid);
    uid = NO_UID;
  }
}
