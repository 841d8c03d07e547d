package dev.ebb.exec;

import dev.ebb.box.SandboxException;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One output stream of a command: a file that init fills and anybody reads at their own pace, from
 * any offset. It costs a descriptor only while it is read. Thread-safe.
 */
public final class OutputLog {
  private final Path file;
  private final ReentrantLock lock;
  private final Condition grown;
  private long size;
  private boolean ended;

  /** {@code lock} and {@code grown} are shared by the streams of one exec. */
  OutputLog(Path file, ReentrantLock lock, Condition grown) {
    this.file = file;
    this.lock = lock;
    this.grown = grown;
  }

  /** Makes the file, for init to write to. */
  Fd create(Scope scope) throws KernelException {
    return Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.EXCLUSIVE);
  }

  /** Takes up what init has written so far, for another engine; an absent file holds nothing. */
  void find() throws IOException {
    grow(Files.exists(file) ? Files.size(file) : 0, false);
  }

  /** What it holds is lost; an absent one is no error. */
  void remove() throws KernelException {
    Filesystem.unlinkIfPresent(file);
  }

  void grow(long newSize, boolean last) {
    lock.lock();
    try {
      size = Math.max(size, newSize);
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

  /** Reads what is there at {@code position}, without waiting; 0 for nothing. */
  public int read(long position, byte[] buffer) {
    int length = (int) Math.min(buffer.length, Math.max(0, size() - position));
    if (length == 0) {
      return 0;
    }
    try (var scope = new Scope()) {
      Fd open = Fd.open(scope, file, Fd.Flag.READ);
      return Math.max(0, open.readAt(position, buffer, 0, length));
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }
}
