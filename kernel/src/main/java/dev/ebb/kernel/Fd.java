package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.CLOSE;
import static dev.ebb.kernel.SystemCall.EVENTFD2;
import static dev.ebb.kernel.SystemCall.FCNTL;
import static dev.ebb.kernel.SystemCall.MEMFD_CREATE;
import static dev.ebb.kernel.SystemCall.OPENAT;
import static dev.ebb.kernel.SystemCall.OPENAT2;
import static dev.ebb.kernel.SystemCall.OPEN_TREE;
import static dev.ebb.kernel.SystemCall.PIPE2;
import static dev.ebb.kernel.SystemCall.PREAD64;
import static dev.ebb.kernel.SystemCall.READ;
import static dev.ebb.kernel.SystemCall.WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An open descriptor: close-on-exec from birth, owned by a scope.
 *
 * <p>Thread-safe. RACE: a number is never used after it was closed, and never closed under a call
 * that uses it: every call counts itself in, and the last one out closes.
 */
public final class Fd implements Owned {
  /** How a file is opened. */
  public enum Flag {
    READ(0),
    WRITE(1),
    READ_WRITE(2),
    CREATE(0100),
    EXCLUSIVE(0200),
    TRUNCATE(01000),
    APPEND(02000),
    NONBLOCK(04000),
    DIRECTORY(isArm() ? 040000 : 0200000),
    NOFOLLOW(isArm() ? 0100000 : 0400000),
    PATH(010000000);

    private final int bits;

    Flag(int bits) {
      this.bits = bits;
    }

    private static boolean isArm() {
      return System.getProperty("os.arch").equals("aarch64");
    }
  }

  static final int O_CLOEXEC = 02000000;
  private static final int OPEN_TREE_CLONE = 1;
  static final int O_NONBLOCK = 04000;
  static final int AT_FDCWD = -100;
  private static final int MFD_CLOEXEC = 1;
  private static final int MFD_ALLOW_SEALING = 2;
  private static final int F_ADD_SEALS = 1033;

  /** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE. */
  private static final int ALL_SEALS = 15;

  private static final int WRITE_CHUNK = 1 << 20;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int CLOSED = Integer.MIN_VALUE;
  private static final int OPEN_HOW_SIZE = 24;
  private static final long RESOLVE_NO_SYMLINKS = 0x04;

  private final int number;
  private final String subject;
  private final AtomicInteger users = new AtomicInteger();

  private Fd(int number, String subject) {
    this.number = number;
    this.subject = subject;
  }

  static Fd adopt(Scope scope, int number, String subject) throws KernelException {
    return scope.own(new Fd(number, subject));
  }

  public static Fd open(Scope scope, Path path, Flag... flags) throws KernelException {
    return open(scope, path, 0600, flags);
  }

  public static Fd open(Scope scope, Path path, int mode, Flag... flags) throws KernelException {
    try (var frame = new Frame()) {
      long fd =
          frame.callForDescriptor(
              OPENAT, AT_FDCWD, frame.string(path.toString()), bits(flags), mode);
      return adopt(scope, (int) Frame.check(fd, "open " + path), path.toString());
    }
  }

  /**
   * Opens a file that exists, if no part of its path is a symbolic link; ELOOP otherwise. For paths
   * that a less privileged process may have laid out.
   */
  public static Fd openDirectly(Scope scope, Path path, Flag... flags) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment how = frame.allocate(OPEN_HOW_SIZE);
      how.set(JAVA_LONG, 0, bits(flags));
      how.set(JAVA_LONG, 16, RESOLVE_NO_SYMLINKS);
      String name = path.toString();
      long fd =
          frame.callForDescriptor(
              OPENAT2, AT_FDCWD, frame.string(name), how.address(), OPEN_HOW_SIZE);
      return adopt(scope, (int) Frame.check(fd, "open " + path), name);
    }
  }

  /**
   * Opens a directory as the root of a detached mount, from which no path leads to the directories
   * above. Needs CAP_SYS_ADMIN; the mount ends with its last descriptor.
   */
  public static Fd openDetached(Scope scope, Path path) throws KernelException {
    try (var frame = new Frame()) {
      long fd =
          frame.callForDescriptor(
              OPEN_TREE, AT_FDCWD, frame.string(path.toString()), OPEN_TREE_CLONE | O_CLOEXEC);
      return adopt(scope, (int) Frame.check(fd, "detach " + path), path.toString());
    }
  }

  private static int bits(Flag... flags) {
    int bits = O_CLOEXEC;
    for (Flag flag : Set.of(flags)) {
      bits |= flag.bits;
    }
    return bits;
  }

  /** A file in memory: it ends with its last descriptor. */
  public static Fd memory(Scope scope, String name) throws KernelException {
    try (var frame = new Frame()) {
      long fd = frame.callForDescriptor(MEMFD_CREATE, frame.string(name), MFD_CLOEXEC);
      return adopt(scope, (int) Frame.check(fd, "create memfd " + name), name);
    }
  }

  /** A file in memory with this content, to be read from its start; no process can change it. */
  public static Fd memory(Scope scope, String name, byte[] content) throws KernelException {
    try (var frame = new Frame();
        var writing = new Scope()) {
      int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
      long number = frame.callForDescriptor(MEMFD_CREATE, frame.string(name), flags);
      Fd file = adopt(writing, (int) Frame.check(number, "create memfd " + name), name);
      int written = 0;
      while (written < content.length) {
        int length = Math.min(WRITE_CHUNK, content.length - written);
        written += file.write(content, written, length);
      }
      try (var use = file.new Use()) {
        Frame.check(frame.call(FCNTL, use.number(), F_ADD_SEALS, ALL_SEALS), "seal " + name);
        return open(scope, Path.of("/proc/self/fd/" + use.number()), Flag.READ);
      }
    }
  }

  /** A counter that a poller can wait for. */
  public static Fd event(Scope scope) throws KernelException {
    try (var frame = new Frame()) {
      long fd = frame.callForDescriptor(EVENTFD2, 0, O_CLOEXEC | O_NONBLOCK);
      return adopt(scope, (int) Frame.check(fd, "create eventfd"), "eventfd");
    }
  }

  /** The two ends of a pipe. */
  public record Pipe(Fd read, Fd write) {}

  /** Makes a pipe, each end with an owner of its own. */
  public static Pipe pipe(Scope readScope, Scope writeScope) throws KernelException {
    try (var frame = new Frame();
        var reading = new Scope();
        var writing = new Scope()) {
      MemorySegment ends = frame.allocate(8);
      Frame.check(frame.callForDescriptor(PIPE2, ends.address(), O_CLOEXEC), "create pipe");
      Fd read = adopt(reading, ends.get(JAVA_INT, 0), "pipe");
      Fd write = adopt(writing, ends.get(JAVA_INT, 4), "pipe");
      reading.moveTo(readScope);
      writing.moveTo(writeScope);
      return new Pipe(read, write);
    }
  }

  /** Another descriptor of the same open file, numbered {@code atLeast} or higher. */
  Fd duplicate(Scope scope, int atLeast) throws KernelException {
    try (var frame = new Frame();
        var use = new Use()) {
      long fd = frame.call(FCNTL, use.number(), F_DUPFD_CLOEXEC, atLeast);
      return adopt(scope, (int) Frame.check(fd, "duplicate " + subject), subject);
    }
  }

  public void nonBlocking() throws KernelException {
    try (var frame = new Frame();
        var use = new Use()) {
      long flags =
          Frame.check(frame.call(FCNTL, use.number(), F_GETFL), "read flags of " + subject);
      Frame.check(
          frame.call(FCNTL, use.number(), F_SETFL, flags | O_NONBLOCK), "set flags of " + subject);
    }
  }

  /** Reads into {@code buffer}; 0 is the end, -1 means that a non-blocking read would wait. */
  public int read(byte[] buffer, int offset, int length) throws KernelException {
    return transfer(buffer, offset, length, -1);
  }

  /** Reads at a position, without moving the file's own. */
  public int readAt(long position, byte[] buffer, int offset, int length) throws KernelException {
    return transfer(buffer, offset, length, position);
  }

  private int transfer(byte[] buffer, int offset, int length, long position)
      throws KernelException {
    try (var frame = new Frame();
        var use = new Use()) {
      MemorySegment memory = frame.allocate(Math.max(length, 1));
      long n =
          position < 0
              ? frame.callThroughInterrupts(READ, use.number(), memory.address(), length)
              : frame.callThroughInterrupts(
                  PREAD64, use.number(), memory.address(), length, position);
      if (n == -Errno.EAGAIN.number()) {
        return -1;
      }
      Frame.check(n, "read " + subject);
      MemorySegment.copy(memory, JAVA_BYTE, 0, buffer, offset, (int) n);
      return (int) n;
    }
  }

  /** Writes some of the bytes; -1 means that a non-blocking write would wait. */
  public int write(byte[] bytes, int offset, int length) throws KernelException {
    try (var frame = new Frame();
        var use = new Use()) {
      MemorySegment memory = frame.allocate(Math.max(length, 1));
      MemorySegment.copy(bytes, offset, memory, JAVA_BYTE, 0, length);
      long n = frame.callThroughInterrupts(WRITE, use.number(), memory.address(), length);
      if (n == -Errno.EAGAIN.number()) {
        return -1;
      }
      return (int) Frame.check(n, "write to " + subject);
    }
  }

  /** Writes all of a short text in one call, as kernel control files want it. */
  public void write(String text) throws KernelException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int written;
    try {
      written = write(bytes, 0, bytes.length);
    } catch (KernelException e) {
      throw new KernelException("write \"" + text.strip() + "\" to " + subject, e.errno());
    }
    if (written != bytes.length) {
      throw new KernelException("write all of \"" + text.strip() + "\" to " + subject, Errno.EIO);
    }
  }

  /** Writes the numbers of two descriptors, as a v1 {@code cgroup.event_control} wants them. */
  public void writeNumbers(Fd first, Fd second) throws KernelException {
    try (var a = first.new Use();
        var b = second.new Use()) {
      write(a.number() + " " + b.number());
    }
  }

  /** Counts one call in and out. */
  final class Use implements AutoCloseable {
    Use() throws KernelException {
      int before;
      do {
        before = users.get();
        if (before < 0) {
          throw new KernelException("use closed " + subject, Errno.EBADF);
        }
      } while (!users.compareAndSet(before, before + 1));
    }

    int number() {
      return number;
    }

    @Override
    public void close() {
      if (users.decrementAndGet() == CLOSED) {
        closeNumber();
      }
    }
  }

  @Override
  public void close() {
    while (true) {
      int before = users.get();
      if (before < 0) {
        return;
      }
      if (users.compareAndSet(before, before + CLOSED)) {
        if (before == 0) {
          closeNumber();
        }
        return;
      }
    }
  }

  private void closeNumber() {
    try (var frame = new Frame()) {
      // KERNEL: Linux frees the number even when close(2) reports an error; there is no retry.
      var _ = frame.call(CLOSE, number);
    }
  }

  @Override
  public String toString() {
    return "fd " + number + " (" + subject + ")";
  }
}
