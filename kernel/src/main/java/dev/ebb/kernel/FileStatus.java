package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.STATX;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The status of an open file, even if its name is gone.
 *
 * @param mode kind and permissions, as stat(2) has them
 */
public record FileStatus(int mode, int uid, long size, long device, long inode) {
  private static final int AT_EMPTY_PATH = 0x1000;
  private static final int STATX_BASIC_STATS = 0x7ff;
  static final int STATX_SIZE = 256;
  static final int STATX_LINKS = 16;
  private static final int BIRTH = 80;
  private static final int MODIFICATION = 112;
  private static final int S_IFMT = 0170000;
  private static final int S_IFLNK = 0120000;
  private static final int S_IFREG = 0100000;
  private static final int WRITABLE_BY_OTHERS = 0022;

  public static FileStatus of(Fd fd) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      MemorySegment status = frame.allocate(STATX_SIZE);
      long result =
          frame.call(
              STATX,
              use.number(),
              frame.string(""),
              AT_EMPTY_PATH,
              STATX_BASIC_STATS,
              status.address());
      Frame.check(result, "look at " + fd);
      return new FileStatus(
          Short.toUnsignedInt(status.get(JAVA_SHORT, 28)),
          status.get(JAVA_INT, 20),
          status.get(JAVA_LONG, 40),
          (long) status.get(JAVA_INT, 136) << 32
              | Integer.toUnsignedLong(status.get(JAVA_INT, 140)),
          status.get(JAVA_LONG, 32));
    }
  }

  /** The device, the inode, its birth and, of a link, its modification. */
  static List<Long> identity(MemorySegment status) {
    boolean isLink = (Short.toUnsignedInt(status.get(JAVA_SHORT, 28)) & S_IFMT) == S_IFLNK;
    return List.of(
        status.get(JAVA_LONG_UNALIGNED, 136),
        status.get(JAVA_LONG, 32),
        status.get(JAVA_LONG, BIRTH),
        (long) status.get(JAVA_INT, BIRTH + 8),
        isLink ? status.get(JAVA_LONG, MODIFICATION) : 0L,
        isLink ? (long) status.get(JAVA_INT, MODIFICATION + 8) : 0L);
  }

  /** KERNEL: true only of one file while it is open, for then its inode is not used again. */
  public boolean isSameFileAs(FileStatus other) {
    return device == other.device && inode == other.inode;
  }

  public boolean isRegular() {
    return (mode & S_IFMT) == S_IFREG;
  }

  /** Returns whether only this user and root can change its content. */
  public boolean isPrivateTo(int user) {
    return uid == user && (mode & WRITABLE_BY_OTHERS) == 0;
  }
}
