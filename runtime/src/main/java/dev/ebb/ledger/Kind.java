package dev.ebb.ledger;

import java.util.Locale;

/** The kinds of host resources Ebb can hold. */
public enum Kind {
  /** A process, named by pid and start time. */
  PROCESS,
  /** A cgroup directory and whatever lies below it, in any hierarchy. */
  CGROUP,
  /** A host uid lent to a box. */
  USER,
  /** An open descriptor of the runtime; counted, but never durable. */
  DESCRIPTOR,
  /** A directory of ours. */
  DIRECTORY,
  /** The record of a box that outlives its engine, by its path. */
  RECORD;

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
