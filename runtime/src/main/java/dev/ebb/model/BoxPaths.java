package dev.ebb.model;

/** Places in a box. */
public final class BoxPaths {
  public static final String WORKSPACE = "/workspace";

  private BoxPaths() {}

  /** Where the n-th package directory appears. */
  public static String packages(int n) {
    return "/packages/" + n;
  }
}
