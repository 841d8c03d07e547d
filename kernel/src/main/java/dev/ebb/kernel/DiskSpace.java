package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.STATFS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * The size of a file system, and the space that we may still use.
 *
 * @param usedBytes bytes that all users use
 * @param freeBytes free bytes without those reserved for root
 * @param inodes 0 if the file system makes inodes on demand
 */
public record DiskSpace(long usedBytes, long freeBytes, long inodes, long freeInodes) {
  private static final int STATFS_SIZE = 120;
  private static final int BLOCK_SIZE = 8;
  private static final int BLOCKS = 16;
  private static final int FREE = 24;
  private static final int AVAILABLE = 32;
  private static final int FILES = 40;
  private static final int FREE_FILES = 48;

  /** Returns the space of the file system that contains {@code path}. */
  public static DiskSpace of(Path path) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment status = frame.allocate(STATFS_SIZE);
      long result =
          frame.callThroughInterrupts(STATFS, frame.string(path.toString()), status.address());
      Frame.check(result, "look at the file system of " + path);
      long block = status.get(JAVA_LONG, BLOCK_SIZE);
      long used = status.get(JAVA_LONG, BLOCKS) - status.get(JAVA_LONG, FREE);
      return new DiskSpace(
          used * block,
          status.get(JAVA_LONG, AVAILABLE) * block,
          status.get(JAVA_LONG, FILES),
          status.get(JAVA_LONG, FREE_FILES));
    }
  }
}
