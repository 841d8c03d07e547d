package dev.ebb.pressure;

/**
 * What something will take, as far as that is known before it begins.
 *
 * @param pids its own: what a program starts later is bounded by the limits of its box
 */
public record Cost(int pids, int descriptors) {
  public static final Cost NOTHING = new Cost(0, 0);

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
