package dev.ebb.model;

import java.util.Locale;

/** Why a pooled box was destroyed before it was handed out. */
public enum Fate {
  /** It was kept long enough. */
  AGED,
  /** The pool has more boxes than it needs or has room for. */
  SURPLUS,
  /** The pool was closed. */
  CLOSED,
  /** It could not be made as ordered. */
  UNFIT,
  /** Its init was dead. */
  DEAD,
  /** Its init did not answer. */
  SILENT,
  /** It had a process too many or too few. */
  PROCESSES,
  /** The descriptors of its init had changed. */
  DESCRIPTORS,
  /** There were files where commands may write. */
  FILES;

  /** Returns whether the box was changed from within or from outside. */
  public boolean isPoisoned() {
    return compareTo(UNFIT) > 0;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
