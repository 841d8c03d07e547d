package dev.ebb.fault;

import java.util.Locale;

/** What a step is part of. */
public enum Phase {
  OPEN,
  LEDGER,
  CREATE,
  EGRESS,
  FORKSERVER,
  EXEC,
  KILL,
  PAUSE,
  LANE,
  RELEASE,
  CLOSE,
  HISTORY,
  DETACH,
  ADOPTION,
  RECOVERY,
  SWEEP;

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
