package dev.ebb.model;

import java.util.Locale;

/** Why a box was destroyed before anybody had it. */
public enum Fate {
  /** It was kept long enough. */
  AGED,
  /** There were more than are asked for, or than there is room for. */
  SURPLUS,
  /** The pool was closed. */
  CLOSED,
  /** It could not be made what was wanted. */
  UNFIT,
  /** Its init was gone. */
  DEAD,
  /** Its init did not answer. */
  SILENT,
  /** There were others in it than those who belong there, or fewer. */
  PROCESSES,
  /** Its init had other descriptors than at first. */
  DESCRIPTORS,
  /** There was something where commands may write. */
  FILES;

  /** Somebody did something to it. */
  public boolean isPoisoned() {
    return compareTo(UNFIT) > 0;
  }

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
