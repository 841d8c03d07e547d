package dev.ebb.admission;

/**
 * The resources that an operation will take, as far as they are known before it begins.
 *
 * @param pids its own pids: the limits of its box bound what a program starts later
 */
public record Cost(int pids, int descriptors) {
  public static final Cost NOTHING = new Cost(0, 0);

  /** Init, for a moment bwrap (twice) and its launcher; sockets, pidfds, logs. */
  public static final Cost BOX = new Cost(4, 12);

  /** A command in an existing box: without cgroups also its subreaper; logs, pipes. */
  public static final Cost COMMAND = new Cost(2, 8);

  /** A box with its first command. */
  public static final Cost RUN = new Cost(5, 18);

  Cost plus(Cost other) {
    return new Cost(pids + other.pids, descriptors + other.descriptors);
  }

  Cost minus(Cost other) {
    return new Cost(pids - other.pids, descriptors - other.descriptors);
  }

  long of(Resource resource) {
    return switch (resource) {
      case PIDS -> pids;
      case DESCRIPTORS -> descriptors;
      case THREADS, MEMORY, DISK, INODES, CGROUPS, MOUNTS -> 0;
    };
  }
}
