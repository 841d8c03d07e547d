package dev.ebb.kernel;

import static dev.ebb.kernel.Fd.AT_FDCWD;
import static dev.ebb.kernel.SystemCall.FCHOWNAT;
import static dev.ebb.kernel.SystemCall.FLOCK;
import static dev.ebb.kernel.SystemCall.FTRUNCATE;
import static dev.ebb.kernel.SystemCall.GETDENTS64;
import static dev.ebb.kernel.SystemCall.MKDIRAT;
import static dev.ebb.kernel.SystemCall.STATX;
import static dev.ebb.kernel.SystemCall.SYMLINKAT;
import static dev.ebb.kernel.SystemCall.UNLINKAT;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Directory entries and locks, where the errno matters. */
public final class Filesystem {
  private static final int READ_CHUNK = 4096;
  private static final int AT_REMOVEDIR = 0x200;
  private static final int AT_SYMLINK_NOFOLLOW = 0x100;
  private static final int DIRENT_LENGTH = 16;
  private static final int DIRENT_TYPE = 18;
  private static final int DIRENT_NAME = 19;
  private static final int DIRENTS_SIZE = 8192;
  private static final byte DT_UNKNOWN = 0;
  private static final byte DT_DIR = 4;
  private static final int STATX_NLINK = 4;

  /** Type, inode, times of modification and of birth. */
  private static final int STATX_IDENTITY = 0x1 | 0x40 | 0x100 | 0x800;

  /** Its name, and its own "."; each directory in it adds a "..". */
  private static final int LINKS_OF_EMPTY = 2;

  private static final int LOCK_EX = 2;
  private static final int LOCK_NB = 4;

  private Filesystem() {}

  /**
   * Reads a whole file of /proc, /sys or a cgroup.
   *
   * <p>KERNEL: a sysctl answers the first read only, so it must be large; Files.readString asks for
   * one byte first and gets one digit.
   */
  public static String read(Path path) throws KernelException {
    return read(path, 0);
  }

  /**
   * Reads a whole file of a cgroup, usually by one read.
   *
   * <p>KERNEL: a read of a seq_file returns whole records until the buffer or the file ends. No
   * record of a cgroup fills half of the buffer, so a read that leaves half of it empty has reached
   * the end.
   */
  public static String readCgroupFile(Path path) throws KernelException {
    return read(path, READ_CHUNK / 2);
  }

  /** Reads until the end, or until a read that returns no more than {@code last} bytes. */
  private static String read(Path path, int last) throws KernelException {
    try (var scope = new Scope()) {
      Fd fd = Fd.open(scope, path, Fd.Flag.READ);
      var text = new ByteArrayOutputStream();
      byte[] chunk = new byte[READ_CHUNK];
      int n;
      do {
        n = fd.read(chunk, 0, chunk.length);
        text.write(chunk, 0, n);
      } while (n > last);
      return text.toString(StandardCharsets.ISO_8859_1);
    }
  }

  /**
   * Returns what identifies the file, link or directory at {@code path} among all that ever had
   * this path; empty if there is none.
   *
   * <p>KERNEL: the number of an inode is used again, but not with the same time of birth, nor, for
   * a link, which is never changed, with the same time of modification.
   */
  public static List<Long> identity(Path path) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment status = frame.allocate(FileStatus.STATX_SIZE);
      long result =
          frame.call(
              STATX,
              AT_FDCWD,
              frame.string(path.toString()),
              AT_SYMLINK_NOFOLLOW,
              STATX_IDENTITY,
              status.address());
      if (!checkPresent(result, "look at " + path)) {
        return List.of();
      }
      return FileStatus.identity(status);
    }
  }

  /**
   * Returns the directories in a directory, except "." and "..".
   *
   * <p>KERNEL: the dozens of entries of a cgroup carry their file type, so no stat call is needed.
   * Most cgroups have no cgroup below, which their link count shows.
   */
  public static List<Path> directories(Path path) throws KernelException {
    return hasNoDirectory(path) ? List.of() : list(path, Filesystem::isDirectory);
  }

  /** All that is in a directory, but "." and "..". */
  public static List<Path> entries(Path path) throws KernelException {
    return list(path, (child, type) -> true);
  }

  private static boolean hasNoDirectory(Path path) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment status = frame.allocate(FileStatus.STATX_SIZE);
      long result =
          frame.call(
              STATX, AT_FDCWD, frame.string(path.toString()), 0, STATX_NLINK, status.address());
      Frame.check(result, "look at " + path);
      return status.get(JAVA_INT, FileStatus.STATX_LINKS) == LINKS_OF_EMPTY;
    }
  }

  private interface Choice {
    boolean takes(Path child, byte type);
  }

  private static boolean isDirectory(Path child, byte type) {
    return type == DT_DIR
        || (type == DT_UNKNOWN && Files.isDirectory(child, LinkOption.NOFOLLOW_LINKS));
  }

  private static List<Path> list(Path path, Choice choice) throws KernelException {
    try (var scope = new Scope();
        var frame = new Frame();
        var use = Fd.open(scope, path, Fd.Flag.READ, Fd.Flag.DIRECTORY).new Use()) {
      var found = new ArrayList<Path>();
      MemorySegment entries = frame.allocate(DIRENTS_SIZE);
      while (true) {
        long n = frame.call(GETDENTS64, use.number(), entries.address(), DIRENTS_SIZE);
        if (Frame.check(n, "list " + path) == 0) {
          return found;
        }
        for (long at = 0; at < n; at += entries.get(JAVA_SHORT_UNALIGNED, at + DIRENT_LENGTH)) {
          String name = entries.getString(at + DIRENT_NAME);
          if (!name.equals(".")
              && !name.equals("..")
              && choice.takes(path.resolve(name), entries.get(JAVA_BYTE, at + DIRENT_TYPE))) {
            found.add(path.resolve(name));
          }
        }
      }
    }
  }

  public static void mkdir(Path path, int mode) throws KernelException {
    try (var frame = new Frame()) {
      long result = frame.call(MKDIRAT, AT_FDCWD, frame.string(path.toString()), mode);
      Frame.check(result, "make directory " + path);
    }
  }

  /** Makes {@code path} a link to {@code target}; EEXIST if anything has that name. */
  public static void symlink(Path target, Path path) throws KernelException {
    try (var frame = new Frame()) {
      long result =
          frame.call(
              SYMLINKAT, frame.string(target.toString()), AT_FDCWD, frame.string(path.toString()));
      Frame.check(result, "make link " + path);
    }
  }

  public static void rmdir(Path path) throws KernelException {
    Frame.check(unlink(path, AT_REMOVEDIR), "remove directory " + path);
  }

  /** Succeeds if the file is absent; returns false then. */
  public static boolean rmdirIfPresent(Path path) throws KernelException {
    return checkPresent(unlink(path, AT_REMOVEDIR), "remove directory " + path);
  }

  public static void unlink(Path path) throws KernelException {
    Frame.check(unlink(path, 0), "remove " + path);
  }

  /** Succeeds if the file is absent. */
  public static void unlinkIfPresent(Path path) throws KernelException {
    checkPresent(unlink(path, 0), "remove " + path);
  }

  private static long unlink(Path path, int flags) {
    try (var frame = new Frame()) {
      return frame.call(UNLINKAT, AT_FDCWD, frame.string(path.toString()), flags);
    }
  }

  private static boolean checkPresent(long result, String action) throws KernelException {
    if (result == -Errno.ENOENT.number()) {
      return false;
    }
    Frame.check(result, action);
    return true;
  }

  public static void chown(Path path, int uid, int gid) throws KernelException {
    try (var frame = new Frame()) {
      long result =
          frame.call(
              FCHOWNAT, AT_FDCWD, frame.string(path.toString()), uid, gid, AT_SYMLINK_NOFOLLOW);
      Frame.check(result, "give " + path + " to uid " + uid);
    }
  }

  public static void truncate(Fd fd, long size) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      Frame.check(frame.call(FTRUNCATE, use.number(), size), "truncate " + fd);
    }
  }

  /** Takes the exclusive lock of an open file, which lasts as long as the file is open. */
  public static void lock(Fd fd) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      Frame.check(frame.callThroughInterrupts(FLOCK, use.number(), LOCK_EX), "lock " + fd);
    }
  }

  /** Like {@link #lock}, but false at once when another process holds it. */
  public static boolean tryLock(Fd fd) throws KernelException {
    try (var frame = new Frame();
        var use = fd.new Use()) {
      long result = frame.callThroughInterrupts(FLOCK, use.number(), LOCK_EX | LOCK_NB);
      if (result == -Errno.EAGAIN.number()) {
        return false;
      }
      Frame.check(result, "lock " + fd);
      return true;
    }
  }
}
