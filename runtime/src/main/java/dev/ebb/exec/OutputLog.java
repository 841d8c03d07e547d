package dev.ebb.exec;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.Condition;

/**
 * One output stream of a command, which each reader reads at its own pace, from any offset: in
 * memory while it is short, else a file that init fills. Its beginning is in memory, too, if no
 * file takes it. It costs a descriptor only while it is read. Thread-safe.
 */
public final class OutputLog {
  /** SAFETY: of what init may tell; an earlier one kept a little more. */
  private static final int KEPT_MAX = 8192;

  private final Path file;
  private final OrderedLock lock;
  private final Condition grown;
  private long size;
  private boolean ended;

  /** All there is, unless there is more. */
  @GuardedBy("lock")
  private byte[] kept = {};

  private volatile boolean isFiled;

  /** {@code lock} and {@code grown} are shared by the streams of one exec. */
  OutputLog(Path file, OrderedLock lock, Condition grown) {
    this.file = file;
    this.lock = lock;
    this.grown = grown;
  }

  /** Makes the file, for init to write to. */
  Fd create(Scope scope) throws KernelException {
    isFiled = true;
    return Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.EXCLUSIVE);
  }

  /** Another engine had it made. */
  void expectFile() {
    isFiled = true;
  }

  /** Takes up what init has written so far, for another engine; an absent file holds nothing. */
  void find() throws IOException {
    expectFile();
    grow(Files.exists(file) ? Files.size(file) : 0, false);
  }

  /** What it holds is lost; an absent one is no error. */
  void remove() throws KernelException {
    if (isFiled) {
      Filesystem.unlinkIfPresent(file);
    }
  }

  /** Takes what init has in memory; to be followed by {@link #grow}. */
  void keep(byte[] more) {
    lock.lock();
    try {
      if (kept.length + more.length > KEPT_MAX) {
        throw new IllegalArgumentException("init told more than it may keep");
      }
      int before = kept.length;
      kept = Arrays.copyOf(kept, before + more.length);
      System.arraycopy(more, 0, kept, before, more.length);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Writes to the file what is in memory alone, for the next engine; what is there of it is the
   * same.
   */
  void store() throws KernelException {
    byte[] bytes = inMemory();
    if (bytes.length == 0) {
      return;
    }
    try (var scope = new Scope()) {
      isFiled = true;
      Fd open = Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.CREATE);
      for (int done = 0; done < bytes.length; ) {
        int n = open.write(bytes, done, bytes.length - done);
        if (n <= 0) {
          throw new KernelException("write to " + file, Errno.EIO);
        }
        done += n;
      }
    }
  }

  private byte[] inMemory() {
    lock.lock();
    try {
      return kept.length == size ? kept : new byte[0];
    } finally {
      lock.unlock();
    }
  }

  void grow(long newSize, boolean last) {
    lock.lock();
    try {
      size = Math.max(size, newSize);
      if (size > kept.length && kept.length > 0) {
        // ORDER: init writes all that it kept to the file before it counts more.
        kept = new byte[0];
      }
      ended |= last;
      grown.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** How many bytes there are by now. */
  public long size() {
    lock.lock();
    try {
      return size;
    } finally {
      lock.unlock();
    }
  }

  /** True when nothing follows after {@code position}. */
  public boolean isEnd(long position) {
    lock.lock();
    try {
      return ended && position >= size;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for bytes beyond {@code position} or the end; false when the deadline came first. */
  public boolean await(long position, Deadline deadline) throws InterruptedException {
    lock.lock();
    try {
      while (size <= position && !ended) {
        if (deadline.isOver()) {
          return false;
        }
        var _ = grown.awaitNanos(deadline.remainingNanos());
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads what is there at {@code position}, without waiting; 0 for nothing.
   *
   * @throws SandboxException NOT_FOUND when it was removed, INTERNAL when the disk does not give it
   */
  public int read(long position, byte[] buffer) {
    int length = (int) Math.min(buffer.length, Math.max(0, size() - position));
    if (length == 0 || readKept(position, buffer, length)) {
      return length;
    }
    try (var scope = new Scope()) {
      Fd open = Fd.open(scope, file, Fd.Flag.READ);
      int n = open.readAt(position, buffer, 0, length);
      if (n <= 0) {
        // ORDER: init writes before it counts. A reader that got nothing would read again at once.
        throw new KernelException("read what was written to " + file, Errno.EIO);
      }
      return n;
    } catch (KernelException e) {
      throw e.is(Errno.ENOENT)
          ? new SandboxException(ErrorCode.NOT_FOUND, "what the command wrote was removed", e)
          : SandboxException.internal(e);
    }
  }

  private boolean readKept(long position, byte[] buffer, int length) {
    lock.lock();
    try {
      if (position + length > kept.length) {
        return false;
      }
      System.arraycopy(kept, (int) position, buffer, 0, length);
      return true;
    } finally {
      lock.unlock();
    }
  }
}
