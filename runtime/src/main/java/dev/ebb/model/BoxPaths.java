package dev.ebb.model;

/** Paths in a box. */
public final class BoxPaths {
  public static final String WORKSPACE = "/workspace";

  private BoxPaths() {}

  /** Returns where the n-th package directory is mounted. */
  public static String packages(int n) {
    return "/packages/" + n;
  }
}
