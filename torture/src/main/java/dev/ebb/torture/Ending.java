package dev.ebb.torture;

import java.util.Locale;

/** How a box comes to its end. */
enum Ending {
  REMOVE,
  REMOVE_PAUSED,
  REMOVE_TWICE_AT_ONCE,
  STOP,
  KILL_EACH,
  KILL_ALL,
  /** Its commands have a timeout. */
  TIME_OUT,
  /** It has a time to live. */
  TIME_TO_LIVE,
  /** A run is answered, and its box is released after that. */
  ANSWER,
  /** The caller of a run closes its connection. */
  DISCONNECT;

  /** Only a daemon that lives ends it, so it is not one to outlive its daemon. */
  boolean isOfAttached() {
    return this == TIME_TO_LIVE || isOfRun();
  }

  /** A run makes its box by itself. */
  boolean isOfRun() {
    return this == ANSWER || this == DISCONNECT;
  }

  String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
