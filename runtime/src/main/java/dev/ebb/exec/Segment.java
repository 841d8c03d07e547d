package dev.ebb.exec;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.OutputLoss;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;

/**
 * The output of a command, or, of a command that takes orders, the output up to one {@link
 * Exec#split}. Thread-safe. Its files belong to the exec unless {@link #discard} removes them
 * earlier.
 */
public final class Segment {
  private static final Logger LOG = System.getLogger(Segment.class.getName());

  private final OrderedLock lock;
  private final Condition changed;
  private final OutputLog stdout;
  private final OutputLog stderr;

  /** Logs were asked for. */
  private final AtomicBoolean filled = new AtomicBoolean();

  private volatile boolean over;
  private volatile boolean truncated;
  private volatile OutputLoss loss = OutputLoss.NONE;

  /**
   * @param number 0 for the first or only one
   * @param lock and {@code changed}: shared by all of one exec
   */
  Segment(LogDirectory logs, int exec, int number, OrderedLock lock, Condition changed) {
    this.lock = lock;
    this.changed = changed;
    String prefix = number == 0 ? "" : number + ".";
    stdout = new OutputLog(logs.log(exec, prefix + "stdout"), lock, changed);
    stderr = new OutputLog(logs.log(exec, prefix + "stderr"), lock, changed);
  }

  /** Makes the files, for init to write to. */
  List<Fd> create(Scope passing) throws KernelException {
    Step.MAKE_OUTPUT.reach();
    return List.of(stdout.create(passing), stderr.create(passing));
  }

  /** Returns true at the first call. */
  boolean isFilledFirst() {
    return filled.compareAndSet(false, true);
  }

  void find() throws IOException {
    stdout.find();
    stderr.find();
  }

  void expectFiles() {
    stdout.expectFile();
    stderr.expectFile();
  }

  /** Writes the bytes that are only in memory to its files. */
  void store() throws KernelException {
    stdout.store();
    stderr.store();
  }

  void keep(byte[] stdoutBytes, byte[] stderrBytes) {
    stdout.keep(stdoutBytes);
    stderr.keep(stderrBytes);
  }

  void grow(long stdoutSize, long stderrSize) {
    stdout.grow(stdoutSize, false);
    stderr.grow(stderrSize, false);
  }

  /** Nothing follows. */
  void end(long stdoutSize, long stderrSize, boolean wasTruncated, OutputLoss lost) {
    lock.lock();
    try {
      truncated |= wasTruncated;
      loss = lost;
      over = true;
      stdout.grow(stdoutSize, true);
      stderr.grow(stderrSize, true);
    } finally {
      lock.unlock();
    }
  }

  boolean isEmpty() {
    return stdout.size() == 0 && stderr.size() == 0;
  }

  public OutputLog stdout() {
    return stdout;
  }

  public OutputLog stderr() {
    return stderr;
  }

  /** Nothing will follow. */
  public boolean isOver() {
    return over;
  }

  /** Returns whether further output was discarded. */
  public boolean isTruncated() {
    return truncated;
  }

  /** Returns the output that could not be stored. */
  public OutputLoss loss() {
    return loss;
  }

  /** Returns whether either stream has unread output. */
  public boolean hasMore(long stdoutRead, long stderrRead) {
    return stdout.size() > stdoutRead || stderr.size() > stderrRead;
  }

  /** Returns whether both streams are read to the end. */
  public boolean isEnd(long stdoutRead, long stderrRead) {
    return stdout.isEnd(stdoutRead) && stderr.isEnd(stderrRead);
  }

  /**
   * Waits for {@code condition}, which is checked after each write, at the end, and after {@link
   * #wake}; returns false on a timeout.
   */
  public boolean await(BooleanSupplier condition, Deadline deadline) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!condition.getAsBoolean()) {
        if (deadline.isOver()) {
          return false;
        }
        var _ = changed.awaitNanos(deadline.remainingNanos());
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Makes all waiting threads check again. */
  public void wake() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Removes its files before the exec ends; a file that cannot be removed goes with the box. */
  public void discard() {
    try {
      remove();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=output_left, ignoring: it goes with its box", e);
    }
  }

  /** Removes its files with their content; no-op if absent. */
  void remove() throws KernelException {
    Step.REMOVE_OUTPUT.reach();
    stdout.remove();
    stderr.remove();
  }
}
