package dev.ebb.model;

import java.util.Locale;

/** The kinds of host resources that Ebb can hold. */
public enum Kind {
  /** A process, named by pid and start time. */
  PROCESS,
  /** A cgroup directory and whatever lies below it, in any hierarchy. */
  CGROUP,
  /** A host uid lent to a box. */
  USER,
  /** An open descriptor of the runtime; counted, but never durable. */
  DESCRIPTOR,
  /** A directory of Ebb. */
  DIRECTORY,
  /** The record of a box that outlives its engine, by its path. */
  RECORD,
  /** A socket in the directory of a box; never on the ledger: the record covers it. */
  SOCKET,
  /** A mount in Ebb's home; never on the ledger, for Ebb makes none on the host. */
  MOUNT;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
