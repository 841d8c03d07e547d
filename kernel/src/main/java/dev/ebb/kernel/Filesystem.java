package dev.ebb.kernel;

import static dev.ebb.kernel.Fd.AT_FDCWD;
import static dev.ebb.kernel.SystemCall.FCHOWNAT;
import static dev.ebb.kernel.SystemCall.FLOCK;
import static dev.ebb.kernel.SystemCall.FTRUNCATE;
import static dev.ebb.kernel.SystemCall.MKDIRAT;
import static dev.ebb.kernel.SystemCall.UNLINKAT;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Directory entries and locks, where the errno matters. */
public final class Filesystem {
  private static final int READ_CHUNK = 4096;
  private static final int AT_REMOVEDIR = 0x200;
  private static final int AT_SYMLINK_NOFOLLOW = 0x100;
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
    try (var scope = new Scope()) {
      Fd fd = Fd.open(scope, path, Fd.Flag.READ);
      var text = new ByteArrayOutputStream();
      byte[] chunk = new byte[READ_CHUNK];
      for (int n = fd.read(chunk, 0, chunk.length); n > 0; n = fd.read(chunk, 0, chunk.length)) {
        text.write(chunk, 0, n);
      }
      return text.toString(StandardCharsets.ISO_8859_1);
    }
  }

  public static void mkdir(Path path, int mode) throws KernelException {
    try (var frame = new Frame()) {
      long result = frame.call(MKDIRAT, AT_FDCWD, frame.string(path.toString()), mode);
      Frame.check(result, "make directory " + path);
    }
  }

  public static void rmdir(Path path) throws KernelException {
    try (var frame = new Frame()) {
      long result = frame.call(UNLINKAT, AT_FDCWD, frame.string(path.toString()), AT_REMOVEDIR);
      Frame.check(result, "remove directory " + path);
    }
  }

  public static void unlink(Path path) throws KernelException {
    try (var frame = new Frame()) {
      long result = frame.call(UNLINKAT, AT_FDCWD, frame.string(path.toString()), 0);
      Frame.check(result, "remove " + path);
    }
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

  /** Like {@link #lock}, but false at once when somebody else holds it. */
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
