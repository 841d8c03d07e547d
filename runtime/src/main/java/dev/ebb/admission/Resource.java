package dev.ebb.admission;

import java.util.Locale;

/**
 * A resource that a host can run out of.
 *
 * <p>Some have an amount that is plenty: as long as that much is left, the level is at most {@link
 * PressureLevel#WARN}, whatever the percentage. A disk of a terabyte may be 97 % full for years.
 */
public enum Resource {
  /** Processes and threads of all that share the limit of this process. */
  PIDS(Long.MAX_VALUE),
  DESCRIPTORS(Long.MAX_VALUE),
  /** Threads of this process alone; each takes a PID. */
  THREADS(Long.MAX_VALUE),
  /** In bytes, without memory that the kernel would reclaim. */
  MEMORY(4L << 30),
  /** The file system of the state directory, in bytes. */
  DISK(4L << 30),
  INODES(200_000),
  CGROUPS(Long.MAX_VALUE),
  MOUNTS(Long.MAX_VALUE);

  private final long plenty;

  Resource(long plenty) {
    this.plenty = plenty;
  }

  boolean isPlenty(long left) {
    return left >= plenty;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
