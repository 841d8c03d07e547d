package dev.ebb.box;

import java.nio.file.Path;
import java.util.BitSet;

/**
 * The host uids of one instance: each box runs as one that owns nothing else on the host, not lent
 * again while anything of the box remains. Thread-safe.
 */
public final class HostUids {
  /** KERNEL: by systemd's map of uids, 0x70000000 to 0x7fffffff are nobody's. */
  private static final int RANGE_BASE = 0x7000_0000;

  private static final int RANGES = 0x400;
  private static final int RANGE_SIZE = 0x4_0000;
  private static final int BLOCK_SIZE = 0x400;

  private final int first;
  private final BitSet lent = new BitSet(BLOCK_SIZE);

  private HostUids(int first) {
    this.first = first;
  }

  /** The block of an instance, in a range that follows from its home's path. */
  public static HostUids of(Path home, int block) {
    if (block >= RANGE_SIZE / BLOCK_SIZE) {
      throw new SandboxException(
          ErrorCode.NO_USERS_LEFT, "too many runtimes share the home " + home);
    }
    int range = Math.floorMod(home.toString().hashCode(), RANGES);
    return new HostUids(RANGE_BASE + range * RANGE_SIZE + block * BLOCK_SIZE);
  }

  synchronized int lend() {
    int slot = lent.nextClearBit(0);
    if (slot >= BLOCK_SIZE) {
      throw new SandboxException(
          ErrorCode.NO_USERS_LEFT, "all " + BLOCK_SIZE + " host uids of this runtime are in use");
    }
    lent.set(slot);
    return first + slot;
  }

  synchronized void giveBack(int uid) {
    lent.clear(uid - first);
  }
}
