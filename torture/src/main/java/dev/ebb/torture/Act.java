package dev.ebb.torture;

import java.util.Locale;

/** An action on a box while its commands run. */
enum Act {
  LOOK,
  PAUSE_AND_RESUME,
  KILL_ONE,
  SIGNAL_STOP,
  FILES;

  String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
