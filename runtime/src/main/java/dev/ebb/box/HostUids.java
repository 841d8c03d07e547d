package dev.ebb.box;

import dev.ebb.process.Privileges;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Comparator;

/**
 * The host uids of one instance: each box runs as one that owns nothing else on the host, not lent
 * again while anything of the box remains. Where this process may not change its uid, all boxes
 * share its own. Thread-safe.
 */
public final class HostUids {
  /** KERNEL: by systemd's map of uids, 0x70000000 to 0x7fffffff are nobody's. */
  private static final int RANGE_BASE = 0x7000_0000;

  private static final int RANGES = 0x400;
  private static final int RANGE_SIZE = 0x4_0000;
  private static final int BLOCK_SIZE = 0x400;

  /** What a user namespace of 65,536 uids can spare, below its nobody. */
  private static final int SMALL_RANGE_SIZE = 0x2000;

  private final int first;
  private final int count;
  private final BitSet lent = new BitSet();

  private HostUids(int first, int count) {
    this.first = first;
    this.count = count;
  }

  /** The block of an instance, in a range that follows from its home's path. */
  public static HostUids of(Path home, int block) {
    int range = Math.floorMod(home.toString().hashCode(), RANGES);
    return block(home, RANGE_BASE + range * RANGE_SIZE, RANGE_SIZE, block);
  }

  /** What {@code privileges} allow for the block of an instance. */
  public static HostUids of(Path home, int block, Privileges privileges) {
    if (!privileges.canChangeUser()) {
      return new HostUids(privileges.uid(), 0);
    }
    var largest =
        privileges.uids().stream()
            .max(Comparator.comparingLong(Privileges.Range::count))
            .orElseThrow();
    if (largest.first() <= RANGE_BASE && largest.end() >= 1L << 31) {
      return of(home, block);
    }
    long end = Math.min(largest.end(), 0xfffe) & -BLOCK_SIZE;
    long base = Math.max(largest.first() + BLOCK_SIZE, end - SMALL_RANGE_SIZE);
    return block(home, (int) base, (int) (end - base), block);
  }

  private static HostUids block(Path home, int base, int size, int block) {
    if (block >= size / BLOCK_SIZE) {
      throw new SandboxException(
          ErrorCode.NO_USERS_LEFT, "too many runtimes share the home " + home);
    }
    return new HostUids(base + block * BLOCK_SIZE, BLOCK_SIZE);
  }

  /** All boxes run as this process's own user. */
  public boolean isShared() {
    return count == 0;
  }

  synchronized int lend() {
    if (isShared()) {
      return first;
    }
    int slot = lent.nextClearBit(0);
    if (slot >= count) {
      throw new SandboxException(
          ErrorCode.NO_USERS_LEFT, "all " + count + " host uids of this runtime are in use");
    }
    lent.set(slot);
    return first + slot;
  }

  /** Of a box that another process was lent it for. */
  public synchronized void take(int uid) {
    if (isOurs(uid)) {
      lent.set(uid - first);
    }
  }

  /** Lent by nobody, though nobody else may lend it: whatever runs as it is a stray. */
  public synchronized boolean isIdle(int uid) {
    return isOurs(uid) && !lent.get(uid - first);
  }

  /** Nothing of the box it was lent to remains. */
  public synchronized void giveBack(int uid) {
    if (isOurs(uid)) {
      lent.clear(uid - first);
    }
  }

  /** Another process may have lent it from another range. */
  private boolean isOurs(int uid) {
    return uid >= first && uid < first + count;
  }
}
