package dev.ebb.backend.forkserver;

/** When a forkserver is started and used. */
public enum StartPolicy {
  /** Only for a box that names it. */
  NEVER,
  /**
   * Not for the first box: a program that makes one box and ends gains nothing from a forkserver.
   */
  FROM_THE_SECOND_BOX,
  ALWAYS;

  /** The system property that names another policy, for tests that compare. */
  private static final String OVERRIDE = "ebb.maker";

  /** Returns the default, unless a test has set another policy. */
  public StartPolicy orOverride() {
    return switch (System.getProperty(OVERRIDE, "")) {
      case "bwrap" -> NEVER;
      case "forkserver" -> ALWAYS;
      default -> this;
    };
  }
}
