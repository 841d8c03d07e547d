package dev.ebb.torture;

import java.util.Locale;

/** What is done to a box while it works. */
enum Act {
  LOOK,
  PAUSE_AND_RESUME,
  KILL_ONE,
  SIGNAL_STOP,
  FILES;

  String word() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
