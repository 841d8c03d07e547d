package dev.ebb.testkit;

/**
 * One thing that this JVM or Ebb may have left on the host.
 *
 * @param kind what it is: {@code zombie}, {@code cgroup}, {@code socket descriptor}
 * @param identity what tells it from any other, now and later
 * @param details where to find it, on one line
 * @param neighbours true if a living process that this JVM did not start owns it
 */
public record Trace(String kind, String identity, String details, boolean neighbours) {
  Trace(String kind, String identity, String details) {
    this(kind, identity, details, false);
  }

  @Override
  public String toString() {
    return kind + ": " + details;
  }
}
