package dev.ebb.backend.forkserver;

/** When a forkserver is started, and makes the boxes that it can make. */
public enum StartPolicy {
  /** Only for a box that names it. */
  NEVER,
  /** A program that makes one box and ends does not pay for a forkserver. */
  FROM_THE_SECOND_BOX,
  ALWAYS;

  /** Names another policy, for tests that compare. */
  private static final String OVERRIDE = "ebb.maker";

  /** This one, unless a test wants otherwise. */
  public StartPolicy orOverride() {
    return switch (System.getProperty(OVERRIDE, "")) {
      case "bwrap" -> NEVER;
      case "forkserver" -> ALWAYS;
      default -> this;
    };
  }
}
