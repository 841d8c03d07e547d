package dev.ebb.backend;

import java.util.OptionalInt;

/** The host uids of one instance, as a backend needs them. Thread-safe. */
public interface UidLoan {
  /** All boxes run as this process's own user. */
  boolean isShared();

  /** The first of the block; our own where it is shared. */
  int first();

  /** How many the block has; 0 where it is shared. */
  int count();

  /** Lends the last one that is free; empty: none is. */
  OptionalInt lendLast();

  /** Nothing of what it was lent to remains. */
  void giveBack(int uid);
}
