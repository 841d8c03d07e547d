package dev.ebb.box;

/** Where a box is in its life. */
public enum BoxState {
  CREATING,
  RUNNING,
  PAUSED,
  STOPPING,
  /** Its release is not proven yet. */
  STUCK,
  /** Found dead. */
  LOST,
  GONE
}
