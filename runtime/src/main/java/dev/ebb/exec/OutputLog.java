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
 * One output stream of a command. Each reader reads it at its own pace, from any offset. Short
 * output is in memory, longer output in a file that init writes; without a file its beginning stays
 * in memory. It holds a descriptor only while it is read. Thread-safe.
 */
public final class OutputLog {
  /** SAFETY: the most bytes accepted from init; earlier versions of init buffered a little more. */
  private static final int KEPT_MAX = 8192;

  private final Path file;
  private final OrderedLock lock;
  private final Condition grown;
  private long size;
  private boolean ended;

  /** The complete output, unless a file holds more. */
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

  /** Takes over a file that another engine made. */
  void expectFile() {
    isFiled = true;
  }

  /** Counts the bytes that init wrote for an earlier engine; an absent file holds none. */
  void find() throws IOException {
    expectFile();
    grow(Files.exists(file) ? Files.size(file) : 0, false);
  }

  /** Removes the file with its content; no-op if absent. */
  void remove() throws KernelException {
    if (isFiled) {
      Filesystem.unlinkIfPresent(file);
    }
  }

  /** Stores the bytes that init had buffered; call {@link #grow} next. */
  void keep(byte[] more) {
    lock.lock();
    try {
      if (kept.length + more.length > KEPT_MAX) {
        throw new IllegalArgumentException("init sent more than it may keep");
      }
      int before = kept.length;
      kept = Arrays.copyOf(kept, before + more.length);
      System.arraycopy(more, 0, kept, before, more.length);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Writes the bytes in memory to the file, for the next engine. Bytes already there are the same.
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
        // ORDER: init writes everything it buffered to the file before it counts more.
        kept = new byte[0];
      }
      ended |= last;
      grown.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns how many bytes there are by now. */
  public long size() {
    lock.lock();
    try {
      return size;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether nothing follows after {@code position}. */
  public boolean isEnd(long position) {
    lock.lock();
    try {
      return ended && position >= size;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for bytes beyond {@code position} or the end; returns false on a timeout. */
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
   * Reads available bytes at {@code position} without waiting; returns 0 if there are none.
   *
   * @throws SandboxException NOT_FOUND if it was removed, INTERNAL if the disk fails
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
        // ORDER: init writes before it counts, so a reader that got nothing would read again at
        // once.
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
