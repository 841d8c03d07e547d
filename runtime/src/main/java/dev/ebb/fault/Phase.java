package dev.ebb.fault;

import java.util.Locale;

/** The operation that a step belongs to. */
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

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
