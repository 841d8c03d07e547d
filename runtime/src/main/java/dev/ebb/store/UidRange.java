package dev.ebb.store;

import java.util.Optional;

/**
 * The host uids that instances may have, in blocks of {@link #BLOCK}.
 *
 * @param first the first of them; negative for none at all
 */
public record UidRange(int first, int blocks) {
  /** How many boxes of one instance can have a uid each. */
  public static final int BLOCK = 0x400;

  /** The range of instances that run boxes under the uid of their own process. */
  public static final UidRange NONE = new UidRange(-1, 0);

  /** Parses a decimal uid; after a power loss a file may have any content. */
  static Optional<Integer> parse(String text) {
    try {
      return Optional.of(Integer.valueOf(text)).filter(uid -> uid >= 0);
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }

  boolean isNone() {
    return first < 0;
  }

  boolean has(int uid) {
    return uid >= first && (uid - first) % BLOCK == 0 && (uid - first) / BLOCK < blocks;
  }

  /** The first uid of a block. */
  int uid(int block) {
    return first + block * BLOCK;
  }
}
