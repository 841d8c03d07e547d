package dev.ebb.admission;

import java.util.Locale;

/**
 * What a host can run out of.
 *
 * <p>Some have a plenty: as long as so much is left, it is no worse than {@link
 * PressureLevel#WARN}, whatever the percentage. A disk of a terabyte may be 97 % full for years.
 */
public enum Resource {
  /** Processes and threads, of all that share our limit. */
  PIDS(Long.MAX_VALUE),
  DESCRIPTORS(Long.MAX_VALUE),
  /** Of this process alone; each is a PID. */
  THREADS(Long.MAX_VALUE),
  /** In bytes, without what the kernel would give back. */
  MEMORY(4L << 30),
  /** Of the state directory, in bytes. */
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

  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
