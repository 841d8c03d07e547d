package dev.ebb.box;

import dev.ebb.backend.UidLoan;
import dev.ebb.kernel.Self;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.process.Privileges;
import dev.ebb.store.UidRange;
import java.util.BitSet;
import java.util.Comparator;
import java.util.OptionalInt;

/**
 * The host uids of one instance. Each box runs as a uid that owns nothing else on the host; it is
 * not lent again while anything of the box remains. Where this process may not change its uid, all
 * boxes share its own. Thread-safe.
 */
public final class HostUids implements UidLoan {
  /** KERNEL: systemd's table of uids leaves 0x70000000 to 0x7fffffff unused. */
  private static final int RANGE_BASE = 0x7000_0000;

  private static final int RANGE_END = 0x7fff_ffff;

  /** The size of the range in a user namespace of 65,536 uids; it ends below the uid of nobody. */
  private static final int SMALL_RANGE_SIZE = 0x2000;

  private final int first;
  private final int count;
  private final BitSet lent = new BitSet();

  private HostUids(int first, int count) {
    this.first = first;
    this.count = count;
  }

  /** Returns the uids that {@code privileges} allow; each instance claims a block of them. */
  public static UidRange range(Privileges privileges) {
    if (!privileges.canChangeUser()) {
      return UidRange.NONE;
    }
    var largest =
        privileges.uids().stream()
            .max(Comparator.comparingLong(Privileges.Range::count))
            .orElseThrow();
    if (largest.first() <= RANGE_BASE && largest.end() > RANGE_END) {
      return range(RANGE_BASE, RANGE_END + 1L);
    }
    long end = Math.min(largest.end(), 0xfffe) & -UidRange.BLOCK;
    return range(Math.max(largest.first() + UidRange.BLOCK, end - SMALL_RANGE_SIZE), end);
  }

  private static UidRange range(long first, long end) {
    return new UidRange((int) first, (int) (Math.max(0, end - first) / UidRange.BLOCK));
  }

  /** Uses the block from {@code first} on, or only this process's uid if there is none. */
  public static HostUids of(int first) {
    return first < 0 ? new HostUids(Self.uid(), 0) : new HostUids(first, UidRange.BLOCK);
  }

  @Override
  public boolean isShared() {
    return count == 0;
  }

  @Override
  public int first() {
    return first;
  }

  @Override
  public int count() {
    return count;
  }

  @Override
  public synchronized OptionalInt lendLast() {
    int slot = lent.previousClearBit(count - 1);
    return slot < 0 ? OptionalInt.empty() : OptionalInt.of(lend(slot));
  }

  synchronized int lend() {
    if (isShared()) {
      return first;
    }
    return lend(lent.nextClearBit(0));
  }

  private int lend(int slot) {
    if (slot < 0 || slot >= count) {
      throw new SandboxException(
          ErrorCode.NO_USERS_LEFT, "all " + count + " host uids of this runtime are in use");
    }
    lent.set(slot);
    return first + slot;
  }

  /** Marks a uid that another process lent to a box as lent. */
  public synchronized void take(int uid) {
    if (isOurs(uid)) {
      lent.set(uid - first);
    }
  }

  /** Returns whether it is in this block and not lent: a process with this uid is a stray. */
  public synchronized boolean isIdle(int uid) {
    return isOurs(uid) && !lent.get(uid - first);
  }

  /** Returns how many boxes can have a uid at a time; empty where all share one. */
  public OptionalInt most() {
    return isShared() ? OptionalInt.empty() : OptionalInt.of(count);
  }

  /** Returns how many can be lent. */
  public synchronized int left() {
    return count - lent.cardinality();
  }

  @Override
  public synchronized void giveBack(int uid) {
    if (isOurs(uid)) {
      lent.clear(uid - first);
    }
  }

  /**
   * Returns whether it is in this block, lent or not; another process may have used another block.
   */
  public boolean isOurs(int uid) {
    return uid >= first && uid - first < count;
  }
}
