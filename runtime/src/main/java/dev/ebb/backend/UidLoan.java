package dev.ebb.backend;

import java.util.OptionalInt;

/** The host uids of one instance, as a backend needs them. Thread-safe. */
public interface UidLoan {
  /** Returns whether all boxes run as the user of this process. */
  boolean isShared();

  /** Returns the first uid of the block, or the uid of this process if it is shared. */
  int first();

  /** Returns the size of the block; 0 if the uid is shared. */
  int count();

  /** Lends the last free uid; empty if none is free. */
  OptionalInt lendLast();

  /** Returns a uid, once nothing that used it remains. */
  void giveBack(int uid);
}
