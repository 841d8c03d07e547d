package dev.ebb.oracle;

/**
 * One thing that this process or Ebb may have left on the host.
 *
 * @param invariant the promise that it breaks, if it was left
 * @param kind {@code zombie}, {@code cgroup}, {@code socket descriptor} and so on
 * @param identity distinguishes it from any other, now and later
 * @param details where to find it, on one line
 * @param neighbours true if it belongs to another runtime
 */
public record Trace(
    Invariant invariant, String kind, String identity, String details, boolean neighbours) {
  public Trace(Invariant invariant, String kind, String identity, String details) {
    this(invariant, kind, identity, details, false);
  }

  @Override
  public String toString() {
    return kind + ": " + details;
  }
}
